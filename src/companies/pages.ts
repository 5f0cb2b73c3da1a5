import type { PageCompany, PageRow, PagesQuery } from '../../schemas/dashboard/pages.ts'
import { PAGE_LIMITS } from '../../schemas/dashboard/pages.ts'
import { inUtc, type ZoneOf } from '../run/time-zone.ts'
import type { Found, OfTenant, QuestionReader } from '../stores/clickhouse/reader.ts'
import { inCompanyNumbers, isVisible } from './corrected.ts'
import { pageDays, type ReadBasis, readBasis, WITHIN } from './days.ts'
import { HOST_OF_PAGE, PATH_OF_PAGE } from './filter.ts'
import { companiesSql } from './list.ts'

/** First and last day, `YYYY-MM-DD`. */
interface Days {
  readonly from: string
  readonly to: string
}

/** @param isSearched whether the parameter `search` limits the pages */
const pagesSql = (basis: ReadBasis, sort: 'companies' | 'visits' | 'events', isSearched: boolean) => `
  SELECT
    page,
    ${HOST_OF_PAGE} AS host,
    ${PATH_OF_PAGE} AS path,
    uniqExact(company) AS companies,
    sum(day_visits) AS visits,
    sum(day_events) AS events,
    sumMap([ago], [day_visits]) AS visits_of,
    arrayMap(number -> toString(number), topKWeighted(${PAGE_LIMITS.shownCompanies})(company, day_visits)) AS top
  FROM
  (
    SELECT page, company, toUInt16(toInt32({to:Date32}) - toInt32(day)) AS ago, read.events AS day_events, read.visits AS day_visits
    FROM (${pageDays(basis, {
      within: WITHIN,
      ...(isSearched && { pages: "page != '' AND positionCaseInsensitiveUTF8(page, {search:String}) > 0" }),
    })}) AS read
    WHERE ${isVisible(basis, 'company')}
  )
  GROUP BY page
  ORDER BY ${sort} DESC, companies DESC, events DESC, host, path
  LIMIT {limit:UInt32} OFFSET {offset:UInt32}`

const companiesOfPageSql = (basis: ReadBasis) => `
  SELECT toString(company) AS company, sum(read.events) AS page_events, sum(read.visits) AS page_visits, max(last) AS last_read
  FROM (${pageDays(basis, { within: WITHIN, pages: 'page = concat({host:String}, {path:String})' })}) AS read
  WHERE ${isVisible(basis, 'read.company')}
  GROUP BY read.company
  ORDER BY page_visits DESC, page_events DESC, company
  LIMIT {limit:UInt32} OFFSET {offset:UInt32}`

type FoundPage = Omit<PageRow, 'daily_visits' | 'top'> & {
  /** Visits by the number of days before `to`. */
  readonly visits_of: readonly [ago: readonly number[], visits: readonly number[]]
  /** Numbers of companies. */
  readonly top: readonly string[]
}
interface FoundCompany {
  /** Its number. */
  readonly company: string
  readonly page_events: number
  readonly page_visits: number
  readonly last_read: string
}
interface Named {
  readonly number: string
  readonly company_id: string
  readonly name: string
  readonly domain: string
  readonly country_code: string
}

/**
 * Reads the pages that known companies read. Every query is limited to days. Callers must check dates. Rejects as `ClickHouseCompanies`.
 */
export class ClickHousePages {
  readonly #reader: QuestionReader
  readonly #zoneOf: ZoneOf

  /** @param zoneOf the zone of a tenant's days; default: UTC */
  constructor(reader: QuestionReader, zoneOf: ZoneOf = inUtc) {
    this.#reader = reader
    this.#zoneOf = zoneOf
  }

  /** @param allDays every day from `from` to `to`: `daily_visits` has a number for each */
  async pages(tenant: string, query: PagesQuery, allDays: readonly string[]): Promise<Found<PageRow>> {
    const { from, to, sort = 'companies', limit = PAGE_LIMITS.rows, offset = 0 } = query
    const search = (query.search ?? '').trim()
    const parameters: OfTenant = { tenant, from, to, limit, offset, ...(search !== '' && { search }) }
    const basis = await readBasis(this.#reader, tenant, 'pages', await this.#zoneOf(tenant))
    const { rows, total } = await this.#reader.find<FoundPage>(pagesSql(basis, sort, search !== ''), parameters)
    const names = await this.#names(tenant, basis, [...new Set(rows.flatMap(({ top }) => top))])
    return {
      rows: rows.map(({ host, path, companies, visits, events, visits_of: [agos, counts], top }) => {
        const byAgo = new Map(agos.map((ago, i) => [ago, counts[i]!]))
        return {
          ...{ host, path, companies, visits, events },
          daily_visits: allDays.map((_, i) => byAgo.get(allDays.length - 1 - i) ?? 0),
          top: top.flatMap((number) => {
            const known = names.get(number)
            return known === undefined ? [] : [{ company_id: known.company_id, name: known.name }]
          }),
        }
      }),
      total,
    }
  }

  /** Companies that read a page, those with the most visits first. @param part default: the first `PAGE_LIMITS.companies` */
  async companies(
    tenant: string,
    days: Days,
    page: { host: string; path: string },
    part: { readonly limit?: number | undefined; readonly offset?: number | undefined } = {},
  ): Promise<Found<PageCompany>> {
    const { limit = PAGE_LIMITS.companies, offset = 0 } = part
    const basis = await readBasis(this.#reader, tenant, 'pages', await this.#zoneOf(tenant))
    const parameters = { tenant, ...days, ...page, limit, offset }
    const { rows, total } = await this.#reader.find<FoundCompany>(companiesOfPageSql(basis), parameters)
    const names = await this.#names(
      tenant,
      basis,
      rows.map(({ company }) => company),
    )
    const found = rows.flatMap(({ company, page_events: events, page_visits: visits, last_read }) => {
      const known = names.get(company)
      if (known === undefined) return []
      const { company_id, name, domain, country_code } = known
      return [{ company_id, name, domain, country_code, events, visits, last_read }]
    })
    return { rows: found, total }
  }

  /** Companies by their numbers. */
  async #names(tenant: string, basis: ReadBasis, numbers: readonly string[]): Promise<ReadonlyMap<string, Named>> {
    const names = new Map<string, Named>()
    if (numbers.length === 0) return names
    const query = `
      SELECT toString(company) AS number, company_id, name, domain, country_code
      FROM (${companiesSql(basis, inCompanyNumbers(basis, numbers), true)})`
    for (const row of await this.#reader.rows<Named>(query, { tenant })) names.set(row.number, row)
    return names
  }
}
