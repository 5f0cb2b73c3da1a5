import { COMPANY_LIMITS, type CountedCompany } from '../../../schemas/dashboard/companies.ts'
import type { CompanyDay, CompanyEvent, CompanySource } from '../../../schemas/dashboard/company.ts'
import { utcDay } from '../../core/event/outcomes.ts'
import type { StoredCompany } from '../../dashboard/server/company-store.ts'
import { COMPANIES } from './company-list.ts'
import type { DashboardReader } from './reader.ts'

export interface CompanyWanted {
  readonly tenantId: string
  readonly companyId: string
  readonly days: number
  /** UTC, `YYYY-MM-DD` */
  readonly today: string
}

const DAY_MS = 86_400_000

const OF_COMPANY = 'tenant_id = {tenant:String} AND company_id = {company:String}'
/** The key of `events` leads by day to the account, so its accounts, found in a projection, find the rows of a company. */
const OF_ROWS = `${OF_COMPANY} AND account_id IN (SELECT account_id FROM events WHERE ${OF_COMPANY} GROUP BY account_id)`
const OF_DAYS = `${OF_ROWS} AND toDate32(timestamp) >= {from:Date32} AND toDate32(timestamp) <= {to:Date32}`

const COMPANY = `
  SELECT
    company_id, name, domain, industry, industry_category, country_code, classification,
    stored AS events, sets.visits AS visits, sets.unique_ips AS unique_ips, first_seen, last_seen, quality
  FROM (${COMPANIES.replace("company_id > ''", 'company_id = {company:String}')}) AS company
  INNER JOIN
  (
    SELECT company_id, uniqExact(sipHash64(ip, toDate32(timestamp))) AS visits, uniqExact(sipHash64(ip)) AS unique_ips
    FROM events
    WHERE ${OF_ROWS}
    GROUP BY company_id
  ) AS sets USING company_id`

const ACCOUNTS = `
  SELECT account_id AS value, count() AS events
  FROM events
  WHERE ${OF_COMPANY}
  GROUP BY account_id
  ORDER BY events DESC, value
  LIMIT ${COMPANY_LIMITS.accounts}`

const DAYS = `
  SELECT toString(toDate32(timestamp)) AS day, count() AS events, uniqExact(sipHash64(ip)) AS visits
  FROM events
  WHERE ${OF_DAYS}
  GROUP BY toDate32(timestamp)
  ORDER BY day`

const ADDRESSES = `
  SELECT ip, count() AS events
  FROM events
  WHERE ${OF_DAYS}
  GROUP BY ip
  ORDER BY events DESC, max(timestamp) DESC, ip
  LIMIT ${COMPANY_LIMITS.addresses}`

const SOURCES = `
  SELECT kind, value, count() AS events
  FROM events
  ARRAY JOIN
    ['as', 'event_types', 'platforms'] AS kind,
    [if(asn = 0, as_name, trimRight(concat('AS', toString(asn), ' ', as_name))), event_type, platform] AS value
  WHERE ${OF_DAYS}
  GROUP BY kind, value
  ORDER BY events DESC, value
  LIMIT ${COMPANY_LIMITS.sources} BY kind`

const CUT = ['properties', 'user_properties', 'extra']
  .map((name) => `substringUTF8(${name}, 1, ${COMPANY_LIMITS.propertiesMaxChars}) AS shown_${name}`)
  .join()

const EVENTS = `
  SELECT
    event_id, timestamp, received_at, event_type, platform, account_id, ip, ${CUT},
    greatest(lengthUTF8(properties), lengthUTF8(user_properties), lengthUTF8(extra)) > ${COMPANY_LIMITS.propertiesMaxChars} AS cut
  FROM events
  WHERE ${OF_DAYS}
  ORDER BY timestamp DESC, received_at DESC, event_id
  LIMIT ${COMPANY_LIMITS.recentEvents}`

type EventRow = Omit<CompanyEvent, 'properties' | 'user_properties' | 'extra' | 'is_cut'> & {
  readonly shown_properties: string
  readonly shown_user_properties: string
  readonly shown_extra: string
  readonly cut: number
}

/** All that is stored of a company in the last days in which it was seen; undefined when it is not there. */
export async function findCompany(reader: DashboardReader, wanted: CompanyWanted): Promise<StoredCompany | undefined> {
  const { tenantId: tenant, companyId, days, today } = wanted
  const of = { tenant, company: companyId }
  const [[company], accounts] = await Promise.all([
    reader.rows<CountedCompany>(COMPANY, of),
    reader.rows<CompanySource>(ACCOUNTS, of),
  ])
  if (company === undefined) return undefined
  const to = lastDayOf(company, days, today)
  const from = utcDay(Date.parse(to) - (days - 1) * DAY_MS)
  const within = { ...of, from, to }
  const [perDay, addresses, sources, events] = await Promise.all([
    reader.rows<CompanyDay>(DAYS, within),
    reader.rows<{ ip: string; events: number }>(ADDRESSES, within),
    reader.rows<CompanySource & { kind: string }>(SOURCES, within),
    reader.rows<EventRow>(EVENTS, within),
  ])
  const kind = (name: string) =>
    sources.filter((source) => source.kind === name).map(({ value, events }) => ({ value, events }))
  return {
    company,
    accounts: [...accounts],
    from,
    to,
    days: [...perDay],
    as: kind('as'),
    event_types: kind('event_types'),
    platforms: kind('platforms'),
    all_events: perDay.reduce((sum, { events }) => sum + events, 0),
    addresses,
    events: events.map(({ shown_properties, shown_user_properties, shown_extra, cut, ...event }) => ({
      ...event,
      properties: shown_properties,
      user_properties: shown_user_properties,
      extra: shown_extra,
      is_cut: cut === 1,
    })),
  }
}

/** Today, or for a company that has not been seen for so long, the last day on which it was; a clock ahead may be tomorrow's. */
function lastDayOf({ last_seen }: CountedCompany, days: number, today: string): string {
  const lastSeen = last_seen.slice(0, 10)
  if (lastSeen > today) return lastSeen
  return Date.parse(today) - Date.parse(lastSeen) >= days * DAY_MS ? lastSeen : today
}
