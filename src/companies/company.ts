import { COMPANY_LIMITS, type CountedCompany } from '../../schemas/companies.ts'
import type { CompanyAnswer, CompanyDay, CompanyEvent, CompanySource } from '../../schemas/dashboard/company.ts'
import { addDays, dayIn, daysFrom, UTC } from '../run/time-zone.ts'
import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { type CompanyCondition, type Corrected, inCompanyIds } from './corrected.ts'
import { dayOf, eventsWithin, type ReadBasis, readBasis, visitOf, WITHIN } from './days.ts'
import { type HeatRow, heatOf, heatSql } from './heat.ts'
import { companiesSql, countsSql, rowOf, type ShownTouches, type StoredCompanyRow, shownTouches } from './list.ts'
import { type OriginRow, type Origins, originsOf, originsSql } from './origins.ts'
import { touchesSql } from './touches.ts'

interface CompanyWanted {
  readonly tenantId: string
  readonly companyId: string
  readonly days: number
  readonly nowMs: number
  /** IANA name of the zone of its days. */
  readonly zone: string
}

const companySql = (basis: Corrected, company: string) =>
  `SELECT * FROM (${companiesSql(basis, inCompanyIds(basis, [company]), true)}) WHERE company_id = {company:String}`

/** Condition on the events of a company. The index `companies` finds them. */
export const isCompanyEvent = (corrected: Corrected, company: string) =>
  `tenant_id = {tenant:String} AND ${inCompanyIds(corrected, [company]).all('company')}`

const accountsOf = (rows: string) => `
  SELECT account_id AS value, count() AS events
  FROM events
  WHERE ${rows}
  GROUP BY account_id
  ORDER BY events DESC, value
  LIMIT ${COMPANY_LIMITS.accounts}`

const setsOf = (basis: ReadBasis, of: CompanyCondition) =>
  `SELECT visits, unique_ips FROM (${countsSql(basis, {}, ['visits', 'unique_ips'], of)})`

/** All counts of events in one pass over them. */
const countsOf = (rows: string, zone: string) => `
  SELECT
    kind,
    value,
    sum(n) AS events,
    uniqExactIf(of_visit, kind = 'days') AS visits
  FROM
  (
    SELECT ${dayOf('timestamp', zone)} AS day, ${visitOf(zone)} AS of_visit, any(ip) AS address, asn, as_name, event_type, platform, count() AS n
    FROM events
    WHERE ${rows}
    GROUP BY day, of_visit, asn, as_name, event_type, platform
  )
  ARRAY JOIN
    ['days', 'addresses', 'as', 'event_types', 'platforms'] AS kind,
    [toString(day), address, if(asn = 0, as_name, trimRight(concat('AS', toString(asn), ' ', as_name))), event_type, platform] AS value
  GROUP BY kind, value
  ORDER BY events DESC, max(day) DESC, value
  LIMIT ${COMPANY_LIMITS.addresses} BY kind`

const CUT = ['properties', 'user_properties', 'extra']
  .map((name) => `substringUTF8(${name}, 1, ${COMPANY_LIMITS.propertiesMaxChars}) AS shown_${name}`)
  .join()

const eventsOf = (rows: string) => `
  SELECT
    event_id, timestamp, received_at, event_type, platform, account_id, ip, ${CUT},
    greatest(lengthUTF8(properties), lengthUTF8(user_properties), lengthUTF8(extra)) > ${COMPANY_LIMITS.propertiesMaxChars} AS cut
  FROM events
  WHERE ${rows}
  ORDER BY timestamp DESC, received_at DESC, event_id
  LIMIT ${COMPANY_LIMITS.recentEvents}`

interface Count {
  readonly kind: string
  readonly value: string
  readonly events: number
  readonly visits: number
}

type EventRow = Omit<CompanyEvent, 'properties' | 'user_properties' | 'extra' | 'is_cut'> & {
  readonly shown_properties: string
  readonly shown_user_properties: string
  readonly shown_extra: string
  readonly cut: number
}

/** The stored data of a company. */
export interface StoredCompany
  extends Omit<CompanyAnswer, 'networks' | 'cities' | 'located_events' | 'reason' | 'addresses'> {
  /** Stored addresses, those with most events first. */
  readonly addresses: readonly { readonly ip: string; readonly events: number }[]
}

/** Reads a company for the days up to its last event; undefined when it does not exist. */
export async function findCompany(reader: QuestionReader, wanted: CompanyWanted): Promise<StoredCompany | undefined> {
  const { tenantId: tenant, companyId, days, nowMs, zone } = wanted
  const of = { tenant, company: companyId }
  const basis = await readBasis(reader, tenant, 'pages', zone)
  const rows = isCompanyEvent(basis, companyId)
  const ofIt = inCompanyIds(basis, [companyId])
  const inDays = eventsWithin(WITHIN, zone)
  const itself = reader.rows<StoredCompanyRow>(companySql(basis, companyId), of)
  const askAllTime = async () => {
    // None: its first event comes between the questions.
    const [sets = { visits: 0, unique_ips: 0 }] = await reader.rows<Pick<CountedCompany, 'visits' | 'unique_ips'>>(
      setsOf(basis, ofIt),
      of,
    )
    // One that does not exist costs no more questions.
    if ((await itself).length === 0) return { sets }
    const [touches] = await reader.rows<ShownTouches>(touchesSql(basis, ofIt), of)
    const [heat] = await reader.rows<HeatRow>(heatSql(basis, ofIt), of)
    return { sets, touches, heat }
  }
  const askShownDays = async () => {
    const [found] = await itself
    if (found === undefined) return undefined
    const { from, to } = shownDays(dayIn(zone, Date.parse(found.last_seen)), days, dayIn(zone, nowMs))
    return { found, from, to, counts: await reader.rows<Count>(countsOf(rows + inDays, zone), { ...of, from, to }) }
  }
  // Two at a time, so that one call does not wait for its own slots.
  const [{ sets, touches, heat }, shown] = await Promise.all([askAllTime(), askShownDays()])
  if (shown === undefined) return undefined
  const { found, from, to, counts } = shown
  const within = { ...of, from, to }
  const kind = (name: string) => counts.filter((count) => count.kind === name)
  const sources = (name: string) =>
    kind(name)
      .slice(0, COMPANY_LIMITS.sources)
      .map(({ value, events }) => ({ value, events }))
  const perDay = kind('days').map(({ value, events, visits }) => ({ day: value, events, visits }))
  perDay.sort((a, b) => (a.day < b.day ? -1 : 1))
  const [events, accounts] = await Promise.all([
    reader.rows<EventRow>(eventsOf(rows + inDays), { ...within, from: recentFrom(perDay) ?? from }),
    reader.rows<CompanySource>(accountsOf(rows + inDays), within),
  ])
  return {
    company: { ...rowOf(found, found.stored), ...sets, heat: heat?.heat ?? 0, ...shownTouches(touches) },
    heat: heatOf(heat),
    accounts: [...accounts],
    from,
    to,
    days: perDay,
    as: sources('as'),
    event_types: sources('event_types'),
    platforms: sources('platforms'),
    all_events: perDay.reduce((sum, { events }) => sum + events, 0),
    addresses: kind('addresses').map(({ value, events }) => ({ ip: value, events })),
    events: events.map(eventOf),
  }
}

/** The domain of a company, empty when it is unknown; undefined when the company does not exist. */
export async function findDomain(reader: QuestionReader, tenant: string, company: string): Promise<string | undefined> {
  const query = companySql(await readBasis(reader, tenant, 'corrections', UTC), company)
  const [found] = await reader.rows<Pick<StoredCompanyRow, 'domain'>>(query, { tenant, company })
  return found?.domain
}

/** Pages, referrers, campaigns and sources of the visits, on the days of the stored data, which are of a zone. */
export async function findOrigins(
  reader: QuestionReader,
  tenant: string,
  found: StoredCompany,
  zone: string,
): Promise<Origins> {
  const { company, from, to } = found
  const basis = await readBasis(reader, tenant, 'corrections', zone)
  const rows = isCompanyEvent(basis, company.company_id) + eventsWithin(WITHIN, zone)
  const of = { tenant, company: company.company_id, from, to }
  return originsOf(await reader.rows<OriginRow>(originsSql(rows), of))
}

/** The last day by which enough events for the page have been counted, so that older ones are not read. */
function recentFrom(days: readonly CompanyDay[]): string | undefined {
  let events = 0
  return days.findLast((day) => {
    events += day.events
    return events >= COMPANY_LIMITS.recentEvents
  })?.day
}

function eventOf({ shown_properties, shown_user_properties, shown_extra, cut, ...event }: EventRow): CompanyEvent {
  return {
    ...event,
    properties: shown_properties,
    user_properties: shown_user_properties,
    extra: shown_extra,
    is_cut: cut === 1,
  }
}

/**
 * First and last of the days that are shown of a company. They end today, or with its last event when that is longer ago. The last event
 * may be tomorrow when a clock is ahead.
 * @param last the day of its last event
 */
export function shownDays(last: string, days: number, today: string): { readonly from: string; readonly to: string } {
  const to = last > today || daysFrom(last, today) >= days ? last : today
  return { from: addDays(to, 1 - days), to }
}
