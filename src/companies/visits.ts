import {
  type ActivityAnswer,
  VISIT_LIMITS,
  type VisitEvent,
  type VisitsAnswer,
} from '../../schemas/dashboard/visits.ts'
import { utcDay } from '../pipeline/event/outcomes.ts'
import type { Clock } from '../run/clock.ts'
import { InputError } from '../run/errors.ts'
import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { shownDays } from './company.ts'
import { OF_COMPANY } from './corrected.ts'
import { HOST_OF_URL, PAGE_OF_URL } from './page-of-url.ts'

/** The primary key has the account, so a condition on accounts finds the rows of a company fast. */
const OF_ACCOUNTS = `${OF_COMPANY} AND account_id IN (SELECT account_id FROM events WHERE ${OF_COMPANY} GROUP BY account_id)`

/** A text or number of a JSON object; empty when it has none. */
const named = (column: string, name: string) =>
  `multiIf(JSONType(${column}, '${name}') = 'String', JSONExtractString(${column}, '${name}'),
    JSONType(${column}, '${name}') IN ('Int64', 'UInt64'), JSONExtractRaw(${column}, '${name}'), '')`

/** The person as the sender names them. A search of the text comes first, because parsing JSON costs more. */
const PERSON = `
  if(user_properties = '' AND position(extra, '"user') = 0, '',
    arrayFirst(text -> text != '', [${[
      ...['user_id', 'userId'].map((name) => named('extra', name)),
      ...['user_id', 'userId', 'id', 'email'].map((name) => named('user_properties', name)),
    ].join()}]))`

/** Own pages link to each other, which is no source of a visit. */
const REFERRER = `
  if(referrer = '' OR domainWithoutWWW(referrer) = ${HOST_OF_URL}, '', if(domainWithoutWWW(referrer) = '', referrer, domainWithoutWWW(referrer)))`

const visitsSql = (hasCursor: boolean) => `
  SELECT
    event_id,
    timestamp,
    received_at,
    event_type,
    session_id,
    ip,
    account_id,
    ${PERSON} AS person,
    if(url = '', '', ${PAGE_OF_URL}) AS page,
    ${REFERRER} AS referring,
    toString(utm_source) AS source,
    toString(utm_campaign) AS campaign
  FROM events
  WHERE ${OF_ACCOUNTS}
    ${
      hasCursor
        ? `AND (events.timestamp, events.received_at, events.event_id) <
      (parseDateTime64BestEffort({timestamp:String}, 3, 'UTC'), parseDateTime64BestEffort({received:String}, 3, 'UTC'), {event:String})`
        : ''
    }
  ORDER BY events.timestamp DESC, events.received_at DESC, events.event_id DESC
  LIMIT ${VISIT_LIMITS.events + 1}`

const ACTIVITY = `
  SELECT kind, value, count() AS events
  FROM
  (
    SELECT
      if(url = '', '', ${PAGE_OF_URL}) AS page,
      ${REFERRER} AS referring,
      if(utm_campaign = '', utm_source, if(utm_source = '', utm_campaign, concat(utm_campaign, ' · ', utm_source))) AS campaign,
      ${PERSON} AS person
    FROM
    (
      SELECT url, referrer, toString(utm_source) AS utm_source, toString(utm_campaign) AS utm_campaign, user_properties, extra
      FROM events
      WHERE ${OF_ACCOUNTS} AND toDate32(timestamp) >= {from:Date32} AND toDate32(timestamp) <= {to:Date32}
      ORDER BY timestamp DESC
      LIMIT ${VISIT_LIMITS.summedEvents}
    )
  )
  ARRAY JOIN ['events', 'pages', 'referrers', 'campaigns', 'people'] AS kind, ['all', page, referring, campaign, person] AS value
  WHERE value != ''
  GROUP BY kind, value
  ORDER BY events DESC, value
  LIMIT ${VISIT_LIMITS.values} BY kind`

type FoundEvent = Omit<VisitEvent, 'referrer' | 'utm_source' | 'utm_campaign'> & {
  readonly referring: string
  readonly source: string
  readonly campaign: string
}
interface Counted {
  readonly kind: string
  readonly value: string
  readonly events: number
}

/** Reads what a company did, event by event. Reads are bounded by their number of events. Rejects as `ClickHouseCompanies`. */
export class ClickHouseVisits {
  readonly #reader: QuestionReader
  readonly #clock: Clock

  constructor(reader: QuestionReader, clock: Clock) {
    this.#reader = reader
    this.#clock = clock
  }

  /** The newest events, or those before a cursor. @throws InputError when the cursor is none of an answer */
  async events(tenant: string, company: string, before?: string): Promise<VisitsAnswer> {
    const cursor = before === undefined ? undefined : cursorOf(before)
    const found = await this.#reader.rows<FoundEvent>(visitsSql(cursor !== undefined), { tenant, company, ...cursor })
    const events = found.slice(0, VISIT_LIMITS.events)
    const last = found.length > events.length ? events.at(-1) : undefined
    return {
      events: events.map(({ referring, source, campaign, ...event }) => ({
        ...event,
        ...{ referrer: referring, utm_source: source, utm_campaign: campaign },
      })),
      older: last === undefined ? null : `${last.timestamp}~${last.received_at}~${last.event_id}`,
    }
  }

  /** @param days up to the last day with an event, as for the company itself */
  async activity(tenant: string, company: string, days: number): Promise<ActivityAnswer> {
    const today = utcDay(this.#clock.now())
    const query = `SELECT toString(max(toDate32(timestamp))) AS last FROM events WHERE ${OF_ACCOUNTS}`
    const [seen] = await this.#reader.rows<{ last: string }>(query, { tenant, company })
    const shown = shownDays(seen?.last ?? today, days, today)
    const rows = await this.#reader.rows<Counted>(ACTIVITY, { tenant, company, ...shown })
    const of = (name: string) =>
      rows.filter(({ kind }) => kind === name).map(({ value, events }) => ({ value, events }))
    return {
      pages: of('pages'),
      referrers: of('referrers'),
      campaigns: of('campaigns'),
      people: of('people'),
      is_cut: (of('events')[0]?.events ?? 0) >= VISIT_LIMITS.summedEvents,
    }
  }
}

/** Times as ISO 8601, and an id with any characters. */
function cursorOf(text: string): { readonly timestamp: string; readonly received: string; readonly event: string } {
  const [timestamp = '', received = '', ...id] = text.split('~')
  if (id.length === 0 || Number.isNaN(Date.parse(timestamp)) || Number.isNaN(Date.parse(received)))
    throw new InputError('before: must be "older" of an answer')
  return { timestamp, received, event: id.join('~') }
}
