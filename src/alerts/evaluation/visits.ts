import { REFERRER } from '../../companies/activity.ts'
import { byId, inParts, rowsOfCompanies } from '../../companies/companies.ts'
import {
  type CompanyCondition,
  type Corrected,
  inCompanyIds,
  isVisible,
  targetIdOf,
  targetOf,
  UNCORRECTED,
} from '../../companies/corrected.ts'
import {
  CORRECTED_SQL,
  dayOf,
  fromEvents,
  type Need,
  type ReadBasis,
  readBasis,
  visibleDays,
} from '../../companies/days.ts'
import { entriesSql } from '../../companies/entries.ts'
import {
  eventDayParameters,
  hasDays,
  matchedSql,
  type NamedSource,
  needOf,
  needsHeat,
  onEventDays,
  type ResolvedFilter,
  resolveFilter,
} from '../../companies/filter.ts'
import { heatSql } from '../../companies/heat.ts'
import { companiesSql, countsSql, firstSeenSql, matchingSql, partSql } from '../../companies/list.ts'
import { stateAt } from '../../companies/state-at.ts'
import { parseWhere } from '../../companies/where.ts'
import type { Clock } from '../../run/clock.ts'
import { addDays, dayIn, inUtc, type ZoneOf } from '../../run/time-zone.ts'
import type { OfTenant, Parameters, QuestionReader } from '../../stores/clickhouse/reader.ts'
import { CORRECTIONS, HIDDEN, HIDDEN_CHANGES } from '../../stores/clickhouse/tables.ts'
import type { CompanyActivity } from '../messages.ts'
import type { Fate, VisitedCompany, VisitedDay } from './rules.ts'

const PAGE_ROWS = 20_000

/** When companies were first seen by visits that a rule hid at any time, whether they are shown again or deleted. */
const hiddenSinceSql = (corrected: Corrected) => `
  SELECT ${targetIdOf(corrected, 'log.company_id')} AS target, min(log.first_seen) AS since
  FROM ${HIDDEN_CHANGES} AS log
  WHERE tenant_id = {tenant:String}
  GROUP BY target`

interface LatestVisit {
  readonly last_page: string
  readonly origin: readonly [referrer: string, utm_source: string, utm_campaign: string]
  readonly source: string
}

/** The latest page of companies, and the latest origin of their visits. */
const latestVisitsSql = (corrected: Corrected, of: CompanyCondition) => `
  SELECT
    target AS company_id,
    argMaxIf(read_page, at, read_page != '') AS last_page,
    argMaxIf((referring, from, campaign), at, referring != '' OR from != '' OR campaign != '') AS origin,
    argMax(sender, at) AS source
  FROM
  (
    SELECT
      ${targetIdOf(corrected)} AS target,
      timestamp AS at,
      toString(page) AS read_page,
      ${REFERRER} AS referring,
      toString(utm_source) AS from,
      toString(utm_campaign) AS campaign,
      toString(source_id) AS sender
    FROM events
    WHERE tenant_id = {tenant:String} AND ${of.all('company')} AND timestamp >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
  )
  GROUP BY company_id`

/** A company, and a day, `YYYY-MM-DD`. */
interface CompanyDay {
  readonly day: string
  readonly company_id: string
}

/** The evaluation's reader of ClickHouse. */
export class ClickHouseVisits {
  readonly #reader: QuestionReader
  readonly #sources: (tenantId: string) => Promise<readonly NamedSource[]>
  readonly #clock: Clock
  /** The zone of a tenant's days. */
  readonly zoneOf: ZoneOf

  /** @param zoneOf default: UTC */
  constructor(
    reader: QuestionReader,
    sources: (tenantId: string) => Promise<readonly NamedSource[]>,
    clock: Clock,
    zoneOf: ZoneOf = inUtc,
  ) {
    this.#reader = reader
    this.#sources = sources
    this.#clock = clock
    this.zoneOf = zoneOf
  }

  /** Companies as their tenant sees them: without hidden ones, and merged ones under their target. */
  companies(tenantId: string, ids: readonly string[]): Promise<VisitedCompany[]> {
    return this.#ofCompanies<VisitedCompany>(
      tenantId,
      ids,
      (of, corrected) => `
        SELECT
          company_id, name, domain, industry, industry_category, country_code, classification, first_seen, last_seen,
          given.given_name AS given_name, known.since AS hidden_since
        FROM (${companiesSql(corrected, of, true)}) AS companies
        LEFT JOIN (${hiddenSinceSql(corrected)}) AS known ON known.target = companies.company_id
        LEFT JOIN (SELECT company_id AS id, name AS given_name FROM corrected_companies WHERE tenant_id = {tenant:String}) AS given
          ON given.id = companies.company_id
        WHERE NOT hidden`,
    )
  }

  /** The visits of companies. Pages and origins are those of events since a moment. */
  async activities(
    tenantId: string,
    ids: readonly string[],
    sinceMs: number,
  ): Promise<ReadonlyMap<string, CompanyActivity>> {
    const basis = await this.#basis(tenantId, 'pages')
    const ask = async <T extends object>(sqlOf: (of: CompanyCondition) => string, parameters: Parameters = {}) => {
      const of = { ...parameters, tenant: tenantId }
      const rows = await rowsOfCompanies<T & { company_id: string }>(this.#reader, basis, ids, sqlOf, of)
      return new Map(rows.map((row) => [row.company_id, row]))
    }
    const visits = await ask<{ visits: number }>((of) => byId(countsSql(basis, {}, ['visits'], of)))
    const heats = await ask<{ heat: number }>((of) => byId(heatSql(basis, of)))
    const latest = await ask<LatestVisit>((of) => latestVisitsSql(basis, of), { since: sinceMs })
    const names = new Map((await this.#sources(tenantId)).map(({ id, name }) => [id, name]))
    const of = (id: string): CompanyActivity => {
      const { last_page: page = '', origin = ['', '', ''], source = '' } = latest.get(id) ?? {}
      const [referrer, utm_source, utm_campaign] = origin
      const counts = { visits: visits.get(id)?.visits ?? 0, heat: heats.get(id)?.heat ?? 0 }
      return { ...counts, page, referrer, utm_source, utm_campaign, source: names.get(source) || source }
    }
    return new Map(ids.map((id) => [id, of(id)]))
  }

  /** Days with visits, ascending, by company. */
  async days(tenantId: string, ids: readonly string[]): Promise<ReadonlyMap<string, readonly VisitedDay[]>> {
    const zone = await this.zoneOf(tenantId)
    const rows = await this.#ofCompanies<{ company_id: string; days: [day: string, receivedMs: number][] }>(
      tenantId,
      ids,
      (of, corrected) => `
        SELECT target AS company_id, arraySort(groupArray((toString(day), received))) AS days
        FROM
        (
          SELECT
            ${targetIdOf(corrected)} AS target,
            ${dayOf('timestamp', zone)} AS day,
            toUnixTimestamp64Milli(min(received_at)) AS received
          FROM events
          WHERE tenant_id = {tenant:String} AND ${of.all('company')}
          GROUP BY target, day
        )
        GROUP BY company_id`,
    )
    return new Map(rows.map(({ company_id: id, days }) => [id, days.map(([day, receivedMs]) => ({ day, receivedMs }))]))
  }

  /** When the first event of each company was received, milliseconds. */
  async firstReceived(tenantId: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#ofCompanies<{ company_id: string; received: number }>(
      tenantId,
      ids,
      // The projection company_sums has the numbers of companies.
      (of, corrected) => `
        SELECT ${targetIdOf(corrected, 'any(events.company_id)')} AS company_id, toUnixTimestamp64Milli(min(received_at)) AS received
        FROM events
        WHERE tenant_id = {tenant:String} AND ${of.all('company')}
        GROUP BY ${targetOf(corrected)}`,
    )
    return new Map(rows.map(({ company_id: id, received }) => [id, received]))
  }

  /** The company that each one counts for: itself, or the one that it was merged into. */
  async targets(tenantId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const fates = await this.fates(tenantId, ids)
    return new Map(ids.map((id) => [id, fates.get(id)?.countsFor || id]))
  }

  /** Companies with a visit since a moment, by id. @param after continues after this id */
  async visitedSince(tenantId: string, sinceMs: number, after: string, limit: number): Promise<string[]> {
    const rows = await this.#reader.rows<{ company_id: string }>(
      `SELECT DISTINCT company_id FROM events
      WHERE tenant_id = {tenant:String} AND company_id > {after:String}
        AND timestamp >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      ORDER BY company_id LIMIT {limit:UInt32}`,
      { tenant: tenantId, after, since: sinceMs, limit },
    )
    return rows.map(({ company_id: id }) => id)
  }

  /**
   * Companies with an event that was received after a moment, by id.
   * @param freshSinceMs of the events' timestamps
   * @param after continues after this id
   */
  async receivedSince(tenantId: string, sinceMs: number, freshSinceMs: number, after: string, limit: number) {
    const rows = await this.#reader.rows<{ company_id: string }>(
      `SELECT DISTINCT company_id FROM events
      WHERE tenant_id = {tenant:String} AND company_id > {after:String}
        AND received_at > fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        AND timestamp >= fromUnixTimestamp64Milli({fresh:Int64}, 'UTC')
      ORDER BY company_id LIMIT {limit:UInt32}`,
      { tenant: tenantId, after, since: sinceMs, fresh: freshSinceMs, limit },
    )
    return rows.map(({ company_id: id }) => id)
  }

  /** Companies whose first visit is later than a moment, and its day. */
  async firstVisits(tenantId: string, sinceMs: number): Promise<CompanyDay[]> {
    const corrected = await this.#basis(tenantId, 'corrections')
    return await this.#pages(
      `SELECT company_id, [toString(${dayOf('first_seen', corrected.zone)})] AS days FROM (${firstSeenSql(corrected)})
      WHERE company_id > {after:String} AND ${isVisible(corrected, 'company')}
        AND first_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        AND company_id NOT IN (SELECT target FROM (${hiddenSinceSql(corrected)}) WHERE since < fromUnixTimestamp64Milli({since:Int64}, 'UTC'))
      ORDER BY company_id LIMIT {limit:UInt32}`,
      { tenant: tenantId, since: sinceMs },
    )
  }

  /** Days since a moment on which a company came back, after this number of days or more. A timestamp may be up to a day ahead. */
  async returns(tenantId: string, afterDays: number, sinceMs: number): Promise<CompanyDay[]> {
    const basis = await this.#basis(tenantId, 'days')
    return await this.#pages(
      `SELECT
        named.company_id AS company_id,
        arrayFilter(
          (day, before) -> day >= toDate32({since:String}) AND day <= toDate32({until:String}) AND dateDiff('day', before, day) >= {gap:UInt16},
          arrayPopFront(visited),
          arrayPopBack(visited)
        ) AS found,
        arrayMap(day -> toString(day), found) AS days
      FROM
      (
        SELECT company, arraySort(groupArray(day)) AS visited
        FROM (${visibleDays(basis)})
        GROUP BY company
      ) AS days
      INNER JOIN (SELECT company, company_id FROM (${companiesSql(basis)})) AS named USING company
      WHERE company_id > {after:String} AND notEmpty(found)
      ORDER BY company_id LIMIT {limit:UInt32}`,
      {
        tenant: tenantId,
        since: dayIn(basis.zone, sinceMs),
        until: addDays(dayIn(basis.zone, this.#clock.now()), 1),
        gap: afterDays,
      },
    )
  }

  async #basis(tenantId: string, need: Need): Promise<ReadBasis> {
    return await readBasis(this.#reader, tenantId, need, await this.zoneOf(tenantId))
  }

  async #resolve(tenantId: string, where: string, atMs: number): Promise<ResolvedFilter> {
    return resolveFilter(parseWhere(where), atMs, await this.#sources(tenantId), await this.zoneOf(tenantId))
  }

  /** Rows of all pages of a query with the parameters `after` and `limit`. */
  async #pages(query: string, parameters: OfTenant): Promise<CompanyDay[]> {
    const found: CompanyDay[] = []
    for (let after = ''; ; ) {
      const page = { ...parameters, after, limit: PAGE_ROWS }
      const rows = await this.#reader.rows<{ company_id: string; days: string[] }>(query, page)
      for (const { company_id, days } of rows) for (const day of days) found.push({ day, company_id })
      if (rows.length < PAGE_ROWS) return found
      after = rows.at(-1)!.company_id
    }
  }

  /** Companies that a filter keeps. @param ids only among these; undefined: of all @param limit of companies, without `ids` */
  async members(tenantId: string, where: string, ids: readonly string[] | undefined, limit: number): Promise<string[]> {
    const filter = await this.#resolve(tenantId, where, this.#clock.now())
    if (ids === undefined) return await this.#all(tenantId, filter, limit)
    return await this.#matching(tenantId, await this.#basis(tenantId, needOf(filter)), filter, ids, (sql) => sql)
  }

  /**
   * Companies that a filter kept at a moment, by the events received and the corrections made until then.
   * @param limit of companies: when more are found, at least this many are returned
   * @param settled waits until every row that a query has seen is seen by the next one
   */
  async membersAt(
    tenantId: string,
    where: string,
    atMs: number,
    limit: number,
    settled: () => Promise<void>,
  ): Promise<string[]> {
    const filter = await this.#resolve(tenantId, where, atMs)
    // The list of now is fast. Only companies that have changed since then need a look at the past. Those come second, so that they
    // include all that changed until the list was read.
    const now = await this.#all(tenantId, filter, limit)
    if (now.length >= limit) return now
    await settled()
    const changed = await this.#changedSince(tenantId, atMs)
    const before = await this.#membersBefore(tenantId, filter, atMs, [...changed])
    return [...now.filter((id) => !changed.has(id)), ...before]
  }

  /** Those among some companies that a filter kept at a moment, by the events received and the corrections made until then. */
  async membersAmong(tenantId: string, where: string, atMs: number, ids: readonly string[]): Promise<string[]> {
    const filter = await this.#resolve(tenantId, where, atMs)
    return await this.#membersBefore(tenantId, filter, atMs, ids)
  }

  async #membersBefore(tenantId: string, filter: ResolvedFilter, atMs: number, ids: readonly string[]) {
    const past = stateAt({ query: CORRECTED_SQL, parameters: { tenant: tenantId } }, atMs)
    const [corrected = UNCORRECTED] = await this.#reader.rows<Corrected>(past.query, past.parameters)
    // Heat and fit are judged as today. A changed setting would concern all companies, and not these ones only.
    const { heat_weights = '', fit = '' } = await this.#basis(tenantId, 'corrections')
    const basis = { ...fromEvents(corrected, filter.zone), heat_weights, fit }
    return await this.#matching(tenantId, basis, filter, ids, (sql) => stateAt(sql, atMs))
  }

  async #matching(
    tenantId: string,
    basis: ReadBasis,
    filter: ResolvedFilter,
    ids: readonly string[],
    state: (now: { readonly query: string; readonly parameters: OfTenant }) => typeof now,
  ): Promise<string[]> {
    const found: string[] = []
    for (const part of inParts(ids)) {
      const { query, parameters } = state(matchingSql(tenantId, basis, filter, inCompanyIds(basis, part)))
      const rows = await this.#reader.rows<{ company_id: string }>(query, parameters)
      for (const { company_id: id } of rows) found.push(id)
    }
    return found
  }

  /** Companies with events received, or corrections made, after a moment; and the companies that they count for. */
  async #changedSince(tenantId: string, atMs: number): Promise<ReadonlySet<string>> {
    const changed = new Set<string>()
    for (let after = ''; ; ) {
      const rows = await this.#reader.rows<{ company: string }>(
        `SELECT DISTINCT company
        FROM
        (
          SELECT company_id AS company FROM events
          WHERE tenant_id = {tenant:String} AND received_at > fromUnixTimestamp64Milli({since:Int64}, 'UTC')
          UNION ALL
          SELECT arrayJoin(if(field = 'counts_for', [company_id, value, before], [company_id])) AS company FROM ${CORRECTIONS}
          WHERE tenant_id = {tenant:String} AND at > fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        )
        WHERE company > {after:String}
        ORDER BY company LIMIT {limit:UInt32}`,
        { tenant: tenantId, since: atMs, after, limit: PAGE_ROWS },
      )
      const ids = rows.map(({ company }) => company)
      for (const id of ids) changed.add(id)
      for (const target of (await this.targets(tenantId, ids)).values()) changed.add(target)
      if (rows.length < PAGE_ROWS) return changed
      after = ids.at(-1)!
    }
  }

  /**
   * Days since a moment on which a visit brought a company into a filter, by its attributes of today.
   * @throws TooMuchError when it takes longer than `seconds`
   */
  async entries(tenantId: string, where: string, sinceMs: number, seconds?: number): Promise<CompanyDay[]> {
    const nowMs = this.#clock.now()
    const filter = await this.#resolve(tenantId, where, nowMs)
    const { query, parameters } = entriesSql(
      tenantId,
      await this.#basis(tenantId, 'pages'),
      filter,
      dayIn(filter.zone, sinceMs),
      dayIn(filter.zone, nowMs),
    )
    const rows = await this.#reader.rows<{ entered: string; companies: string[] }>(query, parameters, seconds)
    return rows.flatMap(({ entered: day, companies }) => companies.map((company_id) => ({ day, company_id })))
  }

  async #all(tenantId: string, filter: ResolvedFilter, limit: number): Promise<string[]> {
    const found: string[] = []
    while (found.length < limit) {
      // Each part asks anew: an erasure may have removed a build since the last one.
      const basis = await this.#basis(tenantId, needOf(filter))
      const rows = Math.min(PAGE_ROWS, limit - found.length)
      const part = { after: found.at(-1) ?? '', updatedSinceMs: undefined, limit: rows }
      const { query, parameters } = partSql(tenantId, basis, filter, part)
      const page = await this.#reader.rows<{ company_id: string }>(query, parameters)
      for (const { company_id: id } of page) found.push(id)
      if (page.length < rows) break
    }
    return found
  }

  /** Those among some companies that may be in a filter by their hidden visits: they have some on the days that it looks at. */
  async withHidden(tenantId: string, where: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const filter = await this.#resolve(tenantId, where, this.#clock.now())
    const looksAtDays = hasDays(filter) || needsHeat(filter) || matchedSql(filter, UNCORRECTED) !== undefined
    const rows = await this.#ofCompanies<{ target: string }>(
      tenantId,
      ids,
      (of, corrected) => `
        SELECT DISTINCT ${targetIdOf(corrected)} AS target
        FROM ${HIDDEN}
        WHERE tenant_id = {tenant:String} AND ${of.all('sipHash64(company_id)')}
          ${looksAtDays ? onEventDays(filter) : ''}`,
      eventDayParameters(filter),
    )
    return new Set(rows.map(({ target }) => target))
  }

  /** Corrections of names, merges and hidden companies since a moment. */
  async corrections(tenantId: string, sinceMs: number): Promise<readonly { day: string; company_id: string }[]> {
    const zone = await this.zoneOf(tenantId)
    return await this.#reader.rows<{ day: string; company_id: string }>(
      `SELECT toString(${dayOf('at', zone)}) AS day, company_id
      FROM company_corrections
      WHERE tenant_id = {tenant:String} AND at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        AND field IN ('hidden', 'name', 'counts_for')
      GROUP BY change_id, day, company_id
      ORDER BY day, company_id LIMIT 10000`,
      { tenant: tenantId, since: sinceMs },
    )
  }

  /** How people have corrected companies. Uncorrected ones are absent. */
  async fates(tenantId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Fate>> {
    const rows: { company_id: string; is_hidden: boolean; counts_for: string }[] = []
    for (const companies of inParts(ids)) {
      const query = `
        SELECT company_id, is_hidden, counts_for
        FROM corrected_companies
        WHERE tenant_id = {tenant:String} AND company_id IN {companies:Array(String)}`
      rows.push(...(await this.#reader.rows<(typeof rows)[number]>(query, { tenant: tenantId, companies })))
    }
    return new Map(
      rows.map(({ company_id: id, is_hidden: isHidden, counts_for: countsFor }) => [id, { isHidden, countsFor }]),
    )
  }

  /** As `rowsOfCompanies`, with the corrections of this moment. */
  async #ofCompanies<T>(
    tenantId: string,
    ids: readonly string[],
    sqlOf: (of: CompanyCondition, corrected: Corrected) => string,
    parameters: Parameters = {},
  ): Promise<T[]> {
    const corrected = await this.#basis(tenantId, 'corrections')
    const of = { ...parameters, tenant: tenantId }
    return await rowsOfCompanies<T>(this.#reader, corrected, ids, (some) => sqlOf(some, corrected), of)
  }
}
