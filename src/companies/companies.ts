import {
  COMPANY_LIMITS,
  type CompanyChoices,
  type CompanyFilter,
  type CompanyRow,
  type CompanyView,
  type CountedCompany,
  type CountedValue,
  type HeatLevels,
} from '../../schemas/companies.ts'
import type {
  CompaniesPage,
  CompaniesQuery,
  CompanyDetailsAnswer,
  CompanyDetailsBody,
} from '../../schemas/dashboard/companies.ts'
import type { FitLine, FitPreview } from '../../schemas/dashboard/fit.ts'
import { HEAT_PREVIEW_ROWS, type HeatPreview, type HeatWeights } from '../../schemas/dashboard/heat.ts'
import type { OwnColumn } from '../../schemas/facts.ts'
import type { TenantRules } from '../../schemas/tenant-rules.ts'
import type { UnknownNetworksAnswer, UnknownQuery } from '../../schemas/unknown-networks.ts'
import { forCaller } from '../run/caller.ts'
import type { Clock } from '../run/clock.ts'
import { addDays, dayIn, inUtc, UTC, type ZoneOf } from '../run/time-zone.ts'
import { encodedChars, type OfTenant, type Parameters, type QuestionReader } from '../stores/clickhouse/reader.ts'
import type { TenantStore } from '../tenants/stores.ts'
import { findCompany, findDomain, findOrigins, type StoredCompany } from './company.ts'
import { type CompanyCondition, type Corrected, inCompanyIds } from './corrected.ts'
import { companyDays, type Need, pageDays, type ReadBasis, readBasis } from './days.ts'
import { OWN_COLUMNS_SQL, readColumns } from './facts.ts'
import {
  type Days,
  type Facet,
  type NamedSource,
  namesSources,
  needOf,
  parametersOf,
  type ResolvedFilter,
  resolveFilter,
} from './filter.ts'
import { fitLinesOf, fitPreviewSql, formatFit } from './fit.ts'
import { formatHeatWeights, type HeatRow, heatLevelsSql, heatOf, heatSql } from './heat.ts'
import {
  choicesSql,
  companiesSql,
  countsSql,
  eventChoicesSql,
  type ListPart,
  listSql,
  matchingSql,
  ownSql,
  partSql,
  rowOf,
  type ShownTouches,
  type StoredCompanyRow,
  shownTouches,
} from './list.ts'
import type { Origins } from './origins.ts'
import { type TouchRow, touchesSql, touchOf } from './touches.ts'
import { countUnknownVisits, findUnknownNetworks } from './unknown.ts'

/** Ids are sent in the URL, which servers limit to 16 KiB. */
const IDS_MAX_CHARS = 6_000

interface FoundSets {
  readonly visits: number
  readonly unique_ips: number
}

interface FoundDays {
  readonly visits_of: readonly (readonly [day: string, visits: number])[]
}

/** Adds the id of each company in the parameter `companies` to rows by its number, `company`. */
export const byId = (rows: string) => `
  SELECT named.company_id AS company_id, found.*
  FROM (SELECT arrayJoin({companies:Array(String)}) AS company_id, sipHash64(company_id) AS company) AS named
  INNER JOIN (${rows}) AS found USING company`

const setsSql = (basis: ReadBasis, of: CompanyCondition, days: Days) =>
  byId(countsSql(basis, days, ['visits', 'unique_ips'], of))

const sparkSql = (basis: ReadBasis, of: CompanyCondition) =>
  byId(`
    SELECT company, groupArray((toString(day), visits)) AS visits_of
    FROM (${companyDays(basis, {
      companies: of,
      within: { from: '{spark_from:Date32}', to: '{spark_to:Date32}' },
    })})
    GROUP BY company`)

const heatsSql = (basis: ReadBasis, of: CompanyCondition) => byId(heatSql(basis, of))

const topPagesSql = (basis: ReadBasis, of: CompanyCondition, most: number) =>
  byId(`
    SELECT company, arrayMap(one -> one.2, groupArraySorted(${most})((-toInt64(page_visits), page))) AS pages
    FROM
    (
      SELECT company, page, sum(visits) AS page_visits
      FROM (${pageDays(basis, { companies: of, within: { from: '{from:Date32}' }, pages: "page != ''" })})
      GROUP BY company, page
    )
    GROUP BY company`)

type SourcesOf = (tenantId: string) => Promise<readonly NamedSource[]>

/** The sources of a tenant for its filters, revoked ones included. */
export function namedSources(tenants: Pick<TenantStore, 'listSources'>): SourcesOf {
  return async (tenantId) =>
    (await tenants.listSources(tenantId)).map(({ prefix, source: { name } }) => ({ id: prefix, name }))
}

/**
 * Reads the companies of a tenant. Callers must check filters with `assertFilter`. Every call rejects with
 * `UnavailableError` when a table is missing or ClickHouse does not answer in time. All calls except `rows` and `ids` reject with
 * `BackpressureError` when there are too many.
 */
export class ClickHouseCompanies {
  readonly #reader: QuestionReader
  readonly #clock: Clock
  readonly #sourcesOf: SourcesOf
  readonly #zoneOf: ZoneOf

  /**
   * @param sourcesOf the sources of a tenant, for filters that name one; default: a filter has ids only
   * @param zoneOf the zone of a tenant's days; default: UTC, as for the API
   */
  constructor(reader: QuestionReader, clock: Clock, sourcesOf: SourcesOf = async () => [], zoneOf: ZoneOf = inUtc) {
    this.#reader = reader
    this.#clock = clock
    this.#sourcesOf = sourcesOf
    this.#zoneOf = zoneOf
  }

  /** A page of a view, and the number of companies on all pages. */
  async page(tenantId: string, query: CompaniesQuery, zone?: string): Promise<CompaniesPage> {
    const { limit = COMPANY_LIMITS.pageRows, offset = 0, ...view } = query
    const [resolved, basis] = await this.#resolve(tenantId, view, { zone })
    const page = 'LIMIT {limit:UInt32} OFFSET {offset:UInt32}'
    const { query: list, parameters } = listSql(tenantId, basis, resolved, page, { columns: 'company_id' })
    const { rows: found, total } = await this.#reader.find<Pick<CompanyRow, 'company_id' | 'events'>>(list, {
      ...parameters,
      limit,
      offset,
    })
    // After the last page there is no row that has the total.
    if (found.length === 0 && offset > 0)
      return { rows: [], total: (await this.page(tenantId, { ...view, limit: 1 }, zone)).total }
    const ids = found.map(({ company_id }) => company_id)
    const companies = await this.#rowsOf<StoredCompanyRow>(tenantId, basis, ids, (of) => companiesSql(basis, of, true))
    // Events may be erased between the two queries.
    const rows = found.flatMap(({ company_id, events }) => {
      const row = companies.get(company_id)
      return row === undefined ? [] : [rowOf(row, events)]
    })
    return { rows, total }
  }

  /** Rows of these companies with counts of all days. Omits unknown ones, and those that count for another one. */
  async rowsOf(tenantId: string, ids: readonly string[]): Promise<CompanyRow[]> {
    const basis = await readBasis(this.#reader, tenantId, 'corrections', UTC)
    const rows = await this.#rowsOf<StoredCompanyRow>(tenantId, basis, ids, (of) => companiesSql(basis, of, true))
    return [...rows.values()].map((row) => rowOf(row, row.stored))
  }

  /** Networks whose visits have no company. */
  async unknownNetworks(
    tenant: TenantRules & { readonly id: string },
    query: UnknownQuery,
  ): Promise<UnknownNetworksAnswer> {
    const of = { clock: this.#clock, zone: await this.#zoneOf(tenant.id) }
    return await findUnknownNetworks(this.#reader, of, tenant, query)
  }

  /** Visits without a company on the last days, today included. */
  async unknownVisits(tenantId: string, days: number): Promise<number> {
    const of = { clock: this.#clock, zone: await this.#zoneOf(tenantId) }
    return await countUnknownVisits(this.#reader, of, tenantId, days)
  }

  /** A part of a list in the order of ids, and the id that the next part begins after; undefined: it is the last one. */
  async part(
    tenantId: string,
    filter: CompanyFilter,
    part: ListPart,
  ): Promise<{ readonly companies: readonly CountedCompany[]; readonly next: string | undefined }> {
    const [resolved, basis] = await this.#resolve(tenantId, filter, { need: 'pages' })
    const { query, parameters } = partSql(tenantId, basis, resolved, { ...part, limit: part.limit + 1 })
    const found = await this.#reader.rows<Omit<CompanyRow, 'own'>>(query, parameters)
    const rows = found.slice(0, part.limit)
    const days = { from: resolved.from, to: resolved.to }
    const ids = rows.map(({ company_id }) => company_id)
    const ask = <T>(sqlOf: (of: CompanyCondition) => string) =>
      this.#rowsOf<T>(tenantId, basis, ids, sqlOf, parametersOf(days))
    const sets = await ask<FoundSets>((of) => setsSql(basis, of, days))
    const heats = await ask<HeatRow>((of) => heatsSql(basis, of))
    const facts = await ask<Pick<CompanyRow, 'own'>>(ownSql)
    const touches = await ask<ShownTouches>((of) => byId(touchesSql(basis, of)))
    const companies = rows.map((row) => {
      // Events may be erased between the two queries.
      const { visits = 0, unique_ips = 0 } = sets.get(row.company_id) ?? {}
      const { own = {} } = facts.get(row.company_id) ?? {}
      const { heat = 0 } = heats.get(row.company_id) ?? {}
      const counted = { ...rowOf({ ...row, own }, row.events), visits, unique_ips, heat }
      return { ...counted, ...shownTouches(touches.get(row.company_id)) }
    })
    return { companies, next: found.length > rows.length ? rows.at(-1)!.company_id : undefined }
  }

  /** Details of these companies. Omits unknown ones. */
  async details(tenantId: string, { companies, ...ofDays }: CompanyDetailsBody): Promise<CompanyDetailsAnswer> {
    const zone = await this.#zoneOf(tenantId)
    const { from, to } = resolveFilter(ofDays, this.#clock.now(), [], zone)
    const spark = this.#sparkDays(to, zone)
    const span = { spark_from: spark[0]!, spark_to: spark.at(-1)!, ...parametersOf({ from, to }) }
    const basis = await readBasis(this.#reader, tenantId, 'pages', zone)
    const ask = <T>(sqlOf: (of: CompanyCondition) => string) => this.#rowsOf<T>(tenantId, basis, companies, sqlOf, span)
    // Two at a time, so that one call does not wait for its own slots.
    const [[sets, heats], [days, touches]] = await Promise.all([
      ask<FoundSets>((of) => setsSql(basis, of, { from, to })).then(
        async (found) => [found, await ask<HeatRow>((of) => heatsSql(basis, of))] as const,
      ),
      ask<FoundDays>((of) => sparkSql(basis, of)).then(
        async (found) => [found, await ask<TouchRow>((of) => byId(touchesSql(basis, of)))] as const,
      ),
    ])
    return {
      companies: [...sets].map(([company_id, { visits, unique_ips }]) => {
        const byDay = new Map(days.get(company_id)?.visits_of)
        const heat = heatOf(heats.get(company_id))
        const row = touches.get(company_id)
        return {
          ...{ company_id, visits, unique_ips, heat },
          daily_visits: spark.map((day) => byDay.get(day) ?? 0),
          ...{ first_touch: touchOf(row, 'first'), last_touch: touchOf(row, 'last') },
        }
      }),
      days: [span.spark_from, span.spark_to],
    }
  }

  /**
   * All companies of a view, in order, up to `COMPANY_LIMITS.exportRows`. Throws when the result is incomplete.
   * @param left aborts when the reader has left
   * @param chosen only these ids; default: all
   */
  async *rows(
    tenantId: string,
    view: CompanyView,
    left: AbortSignal,
    chosen?: readonly string[],
  ): AsyncGenerator<readonly CountedCompany[]> {
    const [resolved, basis] = await forCaller(left, () => this.#resolve(tenantId, view, { need: 'pages' }))
    const { query, parameters } = listSql(tenantId, basis, resolved, 'LIMIT {limit:UInt32}', {
      wanted: ['visits', 'unique_ips', 'heat', 'touches'],
      chosen,
    })
    const limit = COMPANY_LIMITS.exportRows
    yield* this.#reader.stream<CountedCompany>(query, { ...parameters, limit }, left)
  }

  /** The ids of all companies that a filter keeps, up to `COMPANY_LIMITS.exportRows`. */
  async *ids(tenantId: string, filter: CompanyFilter, left: AbortSignal): AsyncGenerator<readonly string[]> {
    const [resolved, basis] = await forCaller(left, () => this.#resolve(tenantId, filter))
    const columns = { columns: 'company_id' }
    const { query, parameters } = listSql(tenantId, basis, resolved, 'LIMIT {limit:UInt32}', columns)
    const of = { ...parameters, limit: COMPANY_LIMITS.exportRows }
    for await (const rows of this.#reader.stream<Pick<CompanyRow, 'company_id'>>(query, of, left))
      yield rows.map(({ company_id }) => company_id)
  }

  /** Pages of these companies on the last days, those with the most visits first. Companies without one are absent. */
  async pagesOf(
    tenantId: string,
    ids: readonly string[],
    { days, most }: { readonly days: number; readonly most: number },
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const zone = await this.#zoneOf(tenantId)
    const basis = await readBasis(this.#reader, tenantId, 'pages', zone)
    const { from, to } = resolveFilter({ days }, this.#clock.now(), [], zone)
    const sqlOf = (of: CompanyCondition) => topPagesSql(basis, of, most)
    const rows = await this.#rowsOf<{ pages: string[] }>(tenantId, basis, ids, sqlOf, parametersOf({ from, to }))
    return new Map([...rows].map(([id, { pages }]) => [id, pages]))
  }

  /** The days that a view counts, `YYYY-MM-DD`. @returns `from` undefined: since the first event */
  async daysOf(
    tenantId: string,
    view: CompanyFilter,
  ): Promise<{ readonly from: string | undefined; readonly to: string }> {
    const [nowMs, zone] = [this.#clock.now(), await this.#zoneOf(tenantId)]
    const { from, to = dayIn(zone, nowMs) } = resolveFilter(view, nowMs, [], zone)
    return { from, to }
  }

  /** Changes when events are stored or removed. Cheap: the number of events, from a few rows of a projection. */
  async version(tenantId: string): Promise<string> {
    const query = 'SELECT count() AS events FROM events WHERE tenant_id = {tenant:String}'
    const [row] = await this.#reader.rows<{ events: number }>(query, { tenant: tenantId })
    return String(row?.events ?? 0)
  }

  /** Values for filters, those with most companies first. Those of a filter follow all other filters. */
  async choices(tenantId: string, filter: CompanyFilter = {}): Promise<CompanyChoices> {
    const [resolved, basis] = await this.#resolve(tenantId, filter)
    const found = await Promise.all(
      [choicesSql(tenantId, basis, resolved), eventChoicesSql(tenantId, basis, resolved)].map(({ query, parameters }) =>
        this.#reader.rows<CountedValue & { readonly filter: Facet }>(query, parameters),
      ),
    )
    const of = (name: Facet) =>
      found.flat().flatMap(({ filter, value, companies }) => (filter === name ? [{ value, companies }] : []))
    return {
      industry: of('industry'),
      category: of('category'),
      country: of('country'),
      classification: of('classification'),
      tag: of('tag'),
      owner: of('owner'),
      status: of('status'),
      fit: of('fit'),
      source: of('source'),
      campaign: of('campaign'),
      first_channel: of('first_channel'),
      last_channel: of('last_channel'),
      first_campaign: of('first_campaign'),
      last_campaign: of('last_campaign'),
    }
  }

  /** Columns of the tenant's own, in the order of their keys. */
  async ownColumns(tenantId: string): Promise<readonly OwnColumn[]> {
    return readColumns(await this.#reader.rows(OWN_COLUMNS_SQL, { tenant: tenantId }))
  }

  /** The ids among `companyIds` that a filter keeps. */
  async matching(tenantId: string, filter: CompanyFilter, companyIds: readonly string[]): Promise<Set<string>> {
    const [resolved, basis] = await this.#resolve(tenantId, filter)
    const sqlOf = (of: CompanyCondition) => matchingSql(tenantId, basis, resolved, of).query
    return new Set((await this.#rowsOf(tenantId, basis, companyIds, sqlOf, parametersOf(resolved))).keys())
  }

  /** How the heat of all companies by these weights is spread, hidden companies left out. */
  async heatLevels(tenantId: string, weights: HeatWeights): Promise<HeatLevels> {
    const heat_weights = formatHeatWeights(weights)
    const zone = await this.#zoneOf(tenantId)
    const basis = { ...(await readBasis(this.#reader, tenantId, 'pages', zone)), heat_weights }
    const [levels] = await this.#reader.rows<HeatLevels>(heatLevelsSql(basis), { tenant: tenantId })
    return levels ?? { median: null, top: null }
  }

  /** The hottest companies, with the weights that hold and with others. */
  async heatPreview(tenantId: string, weights: HeatWeights): Promise<HeatPreview> {
    const heat_weights = formatHeatWeights(weights)
    const [view, basis] = await this.#resolve(tenantId, { sort: 'heat', direction: 'desc' })
    const hottest = async (by: ReadBasis) => {
      const options = { columns: 'company_id, name', wanted: ['heat'] } as const
      const { query, parameters } = listSql(tenantId, by, view, 'LIMIT {limit:UInt32}', options)
      const limit = HEAT_PREVIEW_ROWS
      const rows = await this.#reader.rows<HeatPreview['now'][number]>(query, { ...parameters, limit })
      return rows.map(({ company_id, name, heat }) => ({ company_id, name, heat }))
    }
    const now = await hottest(basis)
    return { now, wanted: await hottest({ ...basis, heat_weights }) }
  }

  /** The fit of all companies by some lines about good ones. @throws InputError for a wrong line */
  async fitPreview(tenantId: string, wanted: readonly FitLine[]): Promise<FitPreview> {
    const basis = { ...(await readBasis(this.#reader, tenantId, 'corrections', UTC)), fit: formatFit(wanted) }
    const query = fitPreviewSql(basis, companiesSql(basis))
    const [found] = await this.#reader.rows<Omit<FitPreview, 'lines'> & { met: readonly number[] }>(query, {
      tenant: tenantId,
    })
    const { good, ok, poor, met } = found!
    return { good, ok, poor, lines: fitLinesOf(basis).map((line, i) => ({ ...line, companies: met[i]! })) }
  }

  /** Undefined when the company does not exist. @param days up to its last event */
  async company(tenantId: string, companyId: string, days: number): Promise<StoredCompany | undefined> {
    const zone = await this.#zoneOf(tenantId)
    return await findCompany(this.#reader, { tenantId, companyId, days, nowMs: this.#clock.now(), zone })
  }

  /** Its domain, empty when it is unknown; undefined when the company does not exist. */
  domain(tenantId: string, companyId: string): Promise<string | undefined> {
    return findDomain(this.#reader, tenantId, companyId)
  }

  /** As `rowsOfCompanies`, by id. */
  async #rowsOf<T>(
    tenant: string,
    basis: ReadBasis,
    companies: readonly string[],
    sqlOf: (of: CompanyCondition) => string,
    parameters: Parameters = {},
  ): Promise<ReadonlyMap<string, T>> {
    const of = { ...parameters, tenant }
    const rows = await rowsOfCompanies<T & { company_id: string }>(this.#reader, basis, companies, sqlOf, of)
    return new Map(rows.map((row) => [row.company_id, row]))
  }

  /** @param given default: the need of the view, and the zone of the tenant */
  async #resolve<F extends CompanyView>(
    tenantId: string,
    filter: F,
    given: { readonly need?: Need; readonly zone?: string | undefined } = {},
  ): Promise<[F & ResolvedFilter, ReadBasis]> {
    const sources = namesSources(filter) ? await this.#sourcesOf(tenantId) : []
    const zone = given.zone ?? (await this.#zoneOf(tenantId))
    const resolved = resolveFilter(filter, this.#clock.now(), sources, zone)
    return [resolved, await readBasis(this.#reader, tenantId, given.need ?? needOf(resolved, resolved.sort), zone)]
  }

  /** Pages, referrers, campaigns and sources of a company's visits, on the days of its stored data. */
  async origins(tenantId: string, found: StoredCompany): Promise<Origins> {
    return await findOrigins(this.#reader, tenantId, found, await this.#zoneOf(tenantId))
  }

  /** The last days up to `to` or today. */
  #sparkDays(to: string | undefined, zone: string): string[] {
    const today = dayIn(zone, this.#clock.now())
    const last = to === undefined || to > today ? today : to
    const { sparkDays } = COMPANY_LIMITS
    return Array.from({ length: sparkDays }, (_, i) => addDays(last, i + 1 - sparkDays))
  }
}

/**
 * Rows of a query about some companies. It is asked once for each part of them that fits into a URL; the parameter `companies` has their ids.
 * @param sqlOf gets the condition of a part
 */
export async function rowsOfCompanies<T>(
  reader: QuestionReader,
  corrected: Corrected,
  ids: readonly string[],
  sqlOf: (of: CompanyCondition) => string,
  parameters: OfTenant,
): Promise<T[]> {
  const found: T[] = []
  // One after the other, so that one call does not take all slots of the tenant.
  for (const companies of inParts(ids)) {
    const rows = await reader.rows<T>(sqlOf(inCompanyIds(corrected, companies)), { ...parameters, companies })
    for (const row of rows) found.push(row)
  }
  return found
}

/** Parts that fit into the URL of a question, without repeats. */
export function inParts(ids: readonly string[]): string[][] {
  const parts: string[][] = []
  let chars = 0
  for (const id of new Set(ids)) {
    const size = encodedChars(id)
    if (parts.length === 0 || chars + size > IDS_MAX_CHARS) {
      parts.push([])
      chars = 0
    }
    parts.at(-1)!.push(id)
    chars += size
  }
  return parts
}
