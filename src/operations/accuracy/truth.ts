import type { ClickHouseClient } from '@clickhouse/client'
import { BROWSER_KEY } from '../../../schemas/row.ts'
import { utcDay } from '../../pipeline/event/outcomes.ts'
import type { Attributed } from './attribution.ts'

/** Events of a tenant with a timestamp on or after a UTC day. */
export interface TruthSelection {
  readonly tenantId: string
  /** `YYYY-MM-DD` */
  readonly since: string
  /** Sources whose events all came with a key in public pages, although their rows do not say so: see `unmarkedPageSources`. */
  readonly pageSources: readonly string[]
}

const DAY_MS = 86_400_000

/** The first UTC day of the last days, today included. */
export function firstDayOf(days: number, nowMs: number): string {
  return utcDay(nowMs - (days - 1) * DAY_MS)
}

/** Events with equal values. Groups of one place follow one another. */
export interface TruthGroup extends Attributed {
  /**
   * The known part of the address: all of it, the network of a truncated one, or `#` and the known domain when the tenant stores no
   * addresses. A pseudonym changes every day, so it would make one visitor many.
   */
  readonly place: string
  readonly knownDomain: string
  readonly classification: string
  readonly quality: number
  readonly events: number
}

/** A stored address. */
export interface TruthAddress {
  readonly ip: string
  /** `''` for none. */
  readonly hostname: string
  readonly events: number
  /** The known domain of its events; `''` when they have none, or several. */
  readonly knownDomain: string
}

/** People with mail of one domain at one address. */
export interface Meeting {
  /** The /24 of an IPv4 address, or the /48 of an IPv6 address: its first address. Meetings of one network follow one another. */
  readonly network: string
  readonly ip: string
  /** `''`: mail that says nothing about an employer. */
  readonly knownDomain: string
  /** Hashes of their addresses, at most `PEOPLE_MAX`. */
  readonly people: readonly string[]
  /** UTC days, at most `DAYS_MAX`. */
  readonly days: readonly string[]
  readonly events: number
  /** The company of the latest event. */
  readonly company: Attributed
}

const PEOPLE_MAX = 1_000
const DAYS_MAX = 100

const WHERE = 'tenant_id = {tenant:String} AND toDate32(timestamp) >= {since:Date32}'

/** Events with a browser key prove nothing: anyone can send them. */
const BELIEVED = 'browser_key = 0 AND NOT has({pages:Array(String)}, source_id)'

/** A session that two domains share says nothing about its other events. */
const SESSIONS = `
  SELECT session_id AS id, any(toString(known_domain)) AS of_session
  FROM events
  WHERE ${WHERE} AND ${BELIEVED} AND known_domain != '' AND session_id IS NOT NULL
  GROUP BY id HAVING uniqExact(known_domain) = 1`

/** The event's own domain, or else that of its session. An event without a session is joined with none: NULL equals nothing. */
const KNOWN = "if(known_domain != '', toString(known_domain), of_session)"
const joined = (events: string) =>
  `${events} GLOBAL ANY LEFT JOIN (${SESSIONS}) AS sessions ON events.session_id = sessions.id`
const JOINED = joined('events')
/**
 * Only the events that have a domain, or may have one: a search in a set takes less time than a join. PREWHERE reads the other columns of
 * these events only; ClickHouse moves no condition with a subquery there by itself.
 */
const JOINED_KNOWN = joined(`(
    SELECT ip, session_id, known_domain, company_id, domain, classification, quality
    FROM events
    PREWHERE ${WHERE} AND (known_domain != '' OR session_id GLOBAL IN (SELECT id FROM (${SESSIONS})))
    WHERE ${BELIEVED}
  ) AS events`)

/** `TruthGroup.place` */
const PLACE = `multiIf(startsWith(ip, '#'), concat('#', known), position(ip, '#') > 0, substringIndex(ip, '#', 1), ip)`

/** The texts in which `knownDomainOf` looks for an address, in its order. */
const TEXTS = ['user_properties', 'extra', 'properties']
const HAS_AT = TEXTS.map((text) => `position(${text}, '@') > 0`).join(' OR ')
/** The value of a key that `knownDomainOf` reads: `"workEmail": "Jane <jane@example.com>"`. The group is the address. */
const EMAIL = [
  String.raw`(?i)"[$_-]*(?:(?:user|work)[$_-]*e[_-]?mail|e[_-]?mail(?:[$_-]*address)?)[$_-]*"\s*:\s*`,
  String.raw`"\s*(?:(?:[^"<>\\]|\\.){0,200}<)?([^\s"<>@]{1,200}@[^\s"<>@]{1,253})[>"\s]`,
].join('')
/** The visitor's address; `known_domain` keeps its domain only. Private mail is here only. `''` for none. */
const ADDRESS = `lower(extract(concat(${TEXTS.join(", ' ', ")}), {email:String}))`
const NETWORK = `multiIf(
  isIPv4String(ip), toString(tupleElement(IPv4CIDRToRange(toIPv4OrDefault(ip), 24), 1)),
  isIPv6String(ip), toString(tupleElement(IPv6CIDRToRange(toIPv6OrDefault(ip), 48), 1)),
  '')`

/** Bounds the memory of ClickHouse: large groups and joins go to its disk. Statements may be long: see `AskRows`. */
export const GENTLE = {
  max_query_size: '16777216',
  max_threads: 2,
  max_bytes_before_external_group_by: '134217728',
  max_bytes_before_external_sort: '134217728',
  join_algorithm: 'grace_hash',
  max_bytes_in_join: '134217728',
  output_format_json_quote_64bit_integers: 0,
} as const

/** Reads the known visitors of a tenant from its own sign-ups. Results stream. */
export class ClickHouseTruth {
  readonly #client: ClickHouseClient
  readonly #secondsMax: number

  /**
   * @param client of the database `ipid`
   * @param secondsMax time limit of a statement; 0: none
   */
  constructor(client: ClickHouseClient, secondsMax = 0) {
    this.#client = client
    this.#secondsMax = secondsMax
  }

  /** Stored events of the selection, with and without a known domain. */
  async events(selection: TruthSelection): Promise<number> {
    return await this.#number(`SELECT count() FROM events WHERE ${WHERE}`, selection)
  }

  /** Stored events with a work e-mail address that count nowhere here, because they came with a browser key. */
  async leftOut(selection: TruthSelection): Promise<number> {
    const withMail = `browser_key = ${BROWSER_KEY.withWorkMail} OR (known_domain != '' AND NOT (${BELIEVED}))`
    return await this.#number(`SELECT count() FROM events WHERE ${WHERE} AND (${withMail})`, selection)
  }

  /** The events with a known domain. */
  async *groups(selection: TruthSelection): AsyncGenerator<TruthGroup> {
    const query = `
      SELECT ${PLACE} AS place, ${KNOWN} AS known, company_id, domain, classification, quality, count()
      FROM ${JOINED_KNOWN}
      WHERE known != ''
      GROUP BY ALL ORDER BY place, known`
    type Row = [string, string, string, string, string, number, number]
    for await (const row of this.#rows<Row>(query, selection)) {
      const [place, knownDomain, companyId, domain, classification, quality, events] = row
      yield { place, knownDomain, companyId, domain, classification, quality, events }
    }
  }

  /** The distinct stored addresses. */
  async *addresses(selection: TruthSelection): AsyncGenerator<TruthAddress> {
    const query = `
      SELECT ip, max(hostname), count(), groupUniqArrayIf(2)(${KNOWN} AS known, ${BELIEVED} AND known != '')
      FROM ${JOINED}
      WHERE ${WHERE}
      GROUP BY ip`
    type Row = [string, string, number, string[]]
    for await (const [ip, hostname, events, known] of this.#rows<Row>(query, selection)) {
      yield { ip, hostname, events, knownDomain: known.length === 1 ? known[0]! : '' }
    }
  }

  /** The people met at each address, by networks. */
  async *meetings(selection: TruthSelection): AsyncGenerator<Meeting> {
    const query = `
      SELECT
        ${NETWORK} AS network, ip, toString(known_domain) AS known,
        groupUniqArray(${PEOPLE_MAX})(toString(cityHash64(${ADDRESS} AS address))),
        groupUniqArray(${DAYS_MAX})(toString(toDate32(timestamp))),
        count(), argMax((company_id, domain), timestamp)
      FROM events
      WHERE ${WHERE} AND ${BELIEVED} AND network != '' AND (known_domain != '' OR ((${HAS_AT}) AND address != ''))
      GROUP BY network, ip, known
      ORDER BY network`
    type Row = [string, string, string, string[], string[], number, [string, string]]
    for await (const row of this.#rows<Row>(query, selection)) {
      const [network, ip, knownDomain, people, days, events, [companyId, domain]] = row
      yield { network, ip, knownDomain, people, days, events, company: { companyId, domain } }
    }
  }

  async #number(query: string, selection: TruthSelection): Promise<number> {
    for await (const [number] of this.#rows<[number]>(query, selection)) return number
    return 0
  }

  async *#rows<Row>(query: string, { tenantId, since, pageSources }: TruthSelection): AsyncGenerator<Row> {
    const result = await this.#client.query({
      query,
      query_params: { tenant: tenantId, since, pages: pageSources, email: EMAIL },
      format: 'JSONCompactEachRow',
      clickhouse_settings: { ...GENTLE, ...(this.#secondsMax > 0 && { max_execution_time: this.#secondsMax }) },
    })
    for await (const rows of result.stream<Row>()) for (const row of rows) yield row.json<Row>()
  }
}
