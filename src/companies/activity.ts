import {
  ACTIVITY_LIMITS,
  type ActivityAnswer,
  type ActivityEvent,
  type ActivityEventsAnswer,
  type InSessions,
} from '../../schemas/dashboard/activity.ts'
import type { Clock } from '../run/clock.ts'
import { InputError } from '../run/errors.ts'
import { dayIn, inUtc, UTC, type ZoneOf } from '../run/time-zone.ts'
import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { isCompanyEvent, shownDays } from './company.ts'
import { inCompanyIds } from './corrected.ts'
import { dayOf, eventsWithin, readBasis, WITHIN } from './days.ts'
import { HOST_OF_PAGE } from './filter.ts'
import { type TouchRow, touchesSql, touchOf } from './touches.ts'

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

/** Own pages link to each other, which is no source of a session. */
export const REFERRER = `
  if(referrer = '' OR domainWithoutWWW(referrer) = ${HOST_OF_PAGE}, '', if(domainWithoutWWW(referrer) = '', referrer, domainWithoutWWW(referrer)))`

/** The page of one event, with the ids in its path. */
const PAGE_AS_SENT =
  "if(position(url, '://') > 0, concat(domainWithoutWWW(url), if(path(url) = '', '/', path(url))), cutQueryString(url))"

const eventsSql = (rows: string, hasCursor: boolean) => `
  SELECT
    event_id,
    timestamp,
    received_at,
    event_type,
    session_id,
    ip,
    account_id,
    ${PERSON} AS person,
    ${PAGE_AS_SENT} AS shown_page,
    ${REFERRER} AS referring,
    toString(utm_source) AS source,
    toString(utm_campaign) AS campaign
  FROM events
  WHERE ${rows}
    ${
      hasCursor
        ? `AND (events.timestamp, events.received_at, events.event_id) <
      (parseDateTime64BestEffort({timestamp:String}, 3, 'UTC'), parseDateTime64BestEffort({received:String}, 3, 'UTC'), {event:String})`
        : ''
    }
  ORDER BY events.timestamp DESC, events.received_at DESC, events.event_id DESC
  LIMIT ${ACTIVITY_LIMITS.events + 1}`

const IN_ORDER = 'timestamp, received_at, event_id'

/** Sessions of the newest events, as `sessionsOf` of the pages groups them. Each has one list of values for each kind. */
const activitySql = (rows: string, zone: string) => `
  SELECT entry.1 AS kind, entry.2 AS value, count() AS sessions, sum(session_events) AS events
  FROM
  (
    SELECT
      count() AS session_events,
      groupUniqArray(page) AS pages,
      argMinIf(referring, (${IN_ORDER}), referring != '') AS first_referrer,
      argMinIf(campaign, (${IN_ORDER}), campaign != '') AS first_campaign,
      groupUniqArray(person) AS people,
      groupUniqArray(account_id) AS accounts
    FROM
    (
      SELECT *, sum(is_later) OVER (PARTITION BY visitor ORDER BY ${IN_ORDER} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS number
      FROM
      (
        SELECT
          *,
          session_id IS NULL AND ${ACTIVITY_LIMITS.sessionGapMs} <= dateDiff('millisecond',
            lagInFrame(timestamp, 1, timestamp) OVER (PARTITION BY visitor ORDER BY ${IN_ORDER} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW),
            timestamp) AS is_later
        FROM
        (
          SELECT
            timestamp, received_at, event_id, session_id, account_id,
            page,
            ${REFERRER} AS referring,
            if(utm_campaign = '', utm_source, if(utm_source = '', utm_campaign, concat(utm_campaign, ' · ', utm_source))) AS campaign,
            ${PERSON} AS person,
            multiIf(session_id IS NOT NULL, concat('session ', toString(session_id)), person != '', concat('person ', person),
              ip != '', concat('address ', ip), concat('account ', account_id)) AS visitor
          FROM
          (
            SELECT
              timestamp, received_at, event_id, session_id, account_id, ip, toString(page) AS page, referrer,
              toString(utm_source) AS utm_source, toString(utm_campaign) AS utm_campaign, user_properties, extra
            FROM events
            WHERE ${rows}${eventsWithin(WITHIN, zone)}
            ORDER BY timestamp DESC
            LIMIT ${ACTIVITY_LIMITS.summedEvents}
          )
        )
      )
    )
    GROUP BY visitor, number
  )
  ARRAY JOIN arrayConcat(
    [('all', 'all'), ('direct', if(first_referrer = '' AND first_campaign = '', 'direct', ''))],
    [('referrers', first_referrer), ('campaigns', first_campaign)],
    arrayMap(each -> ('pages', each), pages),
    arrayMap(each -> ('people', each), people),
    arrayMap(each -> ('accounts', each), accounts)
  ) AS entry
  WHERE value != ''
  GROUP BY kind, value
  ORDER BY sessions DESC, value
  LIMIT ${ACTIVITY_LIMITS.values} BY kind`

type FoundEvent = Omit<ActivityEvent, 'page' | 'referrer' | 'utm_source' | 'utm_campaign'> & {
  readonly shown_page: string
  readonly referring: string
  readonly source: string
  readonly campaign: string
}
interface Counted extends InSessions {
  readonly kind: string
  readonly events: number
}

/** Reads the activity of a company, event by event. Reads are bounded by their number of events. Rejects as `ClickHouseCompanies`. */
export class ClickHouseActivity {
  readonly #reader: QuestionReader
  readonly #clock: Clock
  readonly #zoneOf: ZoneOf

  /** @param zoneOf the zone of a tenant's days; default: UTC */
  constructor(reader: QuestionReader, clock: Clock, zoneOf: ZoneOf = inUtc) {
    this.#reader = reader
    this.#clock = clock
    this.#zoneOf = zoneOf
  }

  /** The newest events, or those before a cursor. @throws InputError when the cursor is not from an answer */
  async events(tenant: string, company: string, before?: string): Promise<ActivityEventsAnswer> {
    const cursor = before === undefined ? undefined : cursorOf(before)
    const found = await this.#reader.rows<FoundEvent>(
      eventsSql(await this.#rowsOf(tenant, company), cursor !== undefined),
      {
        ...{ tenant, company },
        ...cursor,
      },
    )
    const events = found.slice(0, ACTIVITY_LIMITS.events)
    const last = found.length > events.length ? events.at(-1) : undefined
    return {
      events: events.map(({ shown_page: page, referring, source, campaign, ...event }) => ({
        ...event,
        ...{ page, referrer: referring, utm_source: source, utm_campaign: campaign },
      })),
      older: last === undefined ? null : `${last.timestamp}~${last.received_at}~${last.event_id}`,
    }
  }

  /** Condition on the events of a company. */
  async #rowsOf(tenant: string, company: string): Promise<string> {
    return isCompanyEvent(await readBasis(this.#reader, tenant, 'corrections', UTC), company)
  }

  /** @param days up to the last day with an event, as for the company itself */
  async activity(tenant: string, company: string, days: number): Promise<ActivityAnswer> {
    const zone = await this.#zoneOf(tenant)
    const today = dayIn(zone, this.#clock.now())
    const basis = await readBasis(this.#reader, tenant, 'corrections', zone)
    const events = isCompanyEvent(basis, company)
    const query = `SELECT toString(max(${dayOf('timestamp', zone)})) AS last FROM events WHERE ${events}`
    const [seen] = await this.#reader.rows<{ last: string }>(query, { tenant, company })
    const shown = shownDays(seen?.last ?? today, days, today)
    const rows = await this.#reader.rows<Counted>(activitySql(events, zone), { tenant, company, ...shown })
    const ofIt = inCompanyIds(basis, [company])
    const [touches] = await this.#reader.rows<TouchRow>(touchesSql(basis, ofIt), { tenant })
    const of = (name: string) =>
      rows.filter(({ kind }) => kind === name).map(({ value, sessions }) => ({ value, sessions }))
    const all = rows.find(({ kind }) => kind === 'all')
    return {
      sessions: all?.sessions ?? 0,
      direct_sessions: of('direct')[0]?.sessions ?? 0,
      pages: of('pages'),
      referrers: of('referrers'),
      campaigns: of('campaigns'),
      people: of('people'),
      accounts: of('accounts'),
      is_cut: (all?.events ?? 0) >= ACTIVITY_LIMITS.summedEvents,
      ...{ first_touch: touchOf(touches, 'first'), last_touch: touchOf(touches, 'last') },
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
