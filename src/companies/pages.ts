import type { PageCompany, PageRow, PagesQuery } from '../../schemas/dashboard/pages.ts'
import { PAGE_LIMITS } from '../../schemas/dashboard/pages.ts'
import type { Found, OfTenant, QuestionReader } from '../stores/clickhouse/reader.ts'
import { inParts } from './companies.ts'
import { COMPANY, OF_SHOWN, WITH_MERGED } from './corrected.ts'
import { companiesSql, OF_THESE } from './list.ts'
import { HOST_OF_URL, PATH_OF_URL } from './page-of-url.ts'

/** First and last UTC day, `YYYY-MM-DD`. */
interface Days {
  readonly from: string
  readonly to: string
}

const OF_DAYS = `
  ${OF_SHOWN} AND toDate32(timestamp) >= {from:Date32} AND toDate32(timestamp) <= {to:Date32}
    AND url != ''`

/**
 * Companies read a page a few times a day, and lists of few visits take less time than sets.
 * @param isSearched whether the parameter `search` limits the pages
 */
const pagesSql = (sort: 'companies' | 'visits' | 'events', isSearched: boolean) => `
  ${WITH_MERGED}
  SELECT
    host,
    page AS path,
    uniqExact(sipHash64(company)) AS companies,
    sum(day_visits) AS visits,
    sum(day_events) AS events,
    sumMap([ago], [day_visits]) AS visits_of,
    topKWeighted(${PAGE_LIMITS.shownCompanies})(company, day_visits) AS top
  FROM
  (
    SELECT
      ${HOST_OF_URL} AS host,
      ${PATH_OF_URL} AS page,
      ${COMPANY} AS company,
      toUInt16(toInt32({to:Date32}) - toInt32(toDate32(timestamp))) AS ago,
      count() AS day_events,
      length(arrayDistinct(groupArray(sipHash64(ip)))) AS day_visits
    FROM events
    WHERE ${OF_DAYS}${isSearched ? ' AND positionCaseInsensitiveUTF8(concat(host, page), {search:String}) > 0' : ''}
    GROUP BY host, page, company, ago
  )
  GROUP BY host, page
  ORDER BY ${sort} DESC, companies DESC, events DESC, host, path
  LIMIT {limit:UInt32} OFFSET {offset:UInt32}`

const COMPANIES_OF_PAGE = `
  ${WITH_MERGED}
  SELECT company AS company_id, sum(day_events) AS page_events, sum(day_visits) AS page_visits, max(last) AS last_read
  FROM
  (
    SELECT
      ${COMPANY} AS company,
      toDate32(timestamp) AS day,
      count() AS day_events,
      uniqExact(ip) AS day_visits,
      max(timestamp) AS last
    FROM events
    WHERE ${OF_DAYS} AND ${HOST_OF_URL} = {host:String} AND ${PATH_OF_URL} = {path:String}
    GROUP BY company, day
  )
  GROUP BY company
  ORDER BY page_visits DESC, page_events DESC, company_id
  LIMIT ${PAGE_LIMITS.companies}`

type FoundPage = Omit<PageRow, 'daily_visits' | 'top'> & {
  /** Visits by the number of days before `to`. */
  readonly visits_of: readonly [ago: readonly number[], visits: readonly number[]]
  readonly top: readonly string[]
}
interface FoundCompany {
  readonly company_id: string
  readonly page_events: number
  readonly page_visits: number
  readonly last_read: string
}
interface Named {
  readonly company_id: string
  readonly name: string
  readonly domain: string
  readonly country_code: string
}

/**
 * Reads which pages known companies read. ClickHouse computes the page of an event from its JSON, so every query is limited to days. Callers
 * must check dates. Rejects as `ClickHouseCompanies`.
 */
export class ClickHousePages {
  readonly #reader: QuestionReader

  constructor(reader: QuestionReader) {
    this.#reader = reader
  }

  /** @param allDays every day from `from` to `to`: `daily_visits` has a number for each */
  async pages(tenant: string, query: PagesQuery, allDays: readonly string[]): Promise<Found<PageRow>> {
    const { from, to, sort = 'companies', limit = PAGE_LIMITS.rows, offset = 0 } = query
    const search = (query.search ?? '').trim()
    const parameters: OfTenant = { tenant, from, to, limit, offset, ...(search !== '' && { search }) }
    const { rows, total } = await this.#reader.find<FoundPage>(pagesSql(sort, search !== ''), parameters)
    const names = await this.#names(tenant, [...new Set(rows.flatMap(({ top }) => top))])
    return {
      rows: rows.map(({ host, path, companies, visits, events, visits_of: [agos, counts], top }) => {
        const byAgo = new Map(agos.map((ago, i) => [ago, counts[i]!]))
        return {
          ...{ host, path, companies, visits, events },
          daily_visits: allDays.map((_, i) => byAgo.get(allDays.length - 1 - i) ?? 0),
          top: top.flatMap((id) => {
            const known = names.get(id)
            return known === undefined ? [] : [{ company_id: id, name: known.name }]
          }),
        }
      }),
      total,
    }
  }

  /** Companies that read a page, those with the most visits first. */
  async companies(tenant: string, days: Days, page: { host: string; path: string }): Promise<PageCompany[]> {
    const rows = await this.#reader.rows<FoundCompany>(COMPANIES_OF_PAGE, { tenant, ...days, ...page })
    const names = await this.#names(
      tenant,
      rows.map(({ company_id }) => company_id),
    )
    return rows.flatMap(({ company_id, page_events: events, page_visits: visits, last_read }) => {
      const known = names.get(company_id)
      return known === undefined ? [] : [{ ...known, events, visits, last_read }]
    })
  }

  async #names(tenant: string, companies: readonly string[]): Promise<ReadonlyMap<string, Named>> {
    const query = `SELECT company_id, name, domain, country_code FROM (${companiesSql(OF_THESE)})`
    const names = new Map<string, Named>()
    for (const part of inParts(companies)) {
      for (const row of await this.#reader.rows<Named>(query, { tenant, companies: part }))
        names.set(row.company_id, row)
    }
    return names
  }
}
