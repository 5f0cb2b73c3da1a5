import type { ClickHouseClient } from '@clickhouse/client'
import {
  IMPORT_LIMITS,
  type ImportAnswer,
  type ImportChoice,
  type ImportedRow,
} from '../../../schemas/api/company-import.ts'
import { CORRECTION_LIMITS } from '../../../schemas/dashboard/corrections.ts'
import type { OwnColumn } from '../../../schemas/facts.ts'
import { domainIn, registrableDomain } from '../../enrichment/rules/domain.ts'
import { TimeSlice } from '../../enrichment/time-slice.ts'
import { readDisplayName } from '../../run/display-name.ts'
import { InputError } from '../../run/errors.ts'
import { unavailable } from '../../stores/clickhouse/failures.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { CORRECTIONS } from '../../stores/clickhouse/tables.ts'
import type { Corrected } from '../corrected.ts'
import type { CompanyCorrections, CorrectedValue } from '../corrections/corrections.ts'
import { CORRECTED_SQL } from '../days.ts'
import {
  formatColumn,
  OWN,
  OWN_COLUMNS_SQL,
  ownField,
  readColumns,
  readOwnValue,
  readStatus,
  type ValueForm,
} from '../facts.ts'
import { cellOf, columnsOf, type UsedColumn } from './columns.ts'
import { CompanyFinder, type FoundCompany, type Match, wantedSql } from './finder.ts'
import type { CompanyList, ListRow } from './list-file.ts'

/** Companies whose values are read at a time, so that an answer is parsed quickly. */
const COMPANIES_AT_A_TIME = 1_000
const SETTINGS = {
  output_format_json_quote_64bit_integers: 0,
  compile_aggregate_expressions: 0,
  max_query_size: '67108864',
  max_execution_time: 50,
  max_bytes_before_external_group_by: '268435456',
} as const

const NO_KEY = 'say which column is the domain or the name of the company'

interface ImportOptions extends Pick<ImportChoice, 'map' | 'clear_empty' | 'date_order' | 'dry_run' | 'change_id'> {
  readonly by: string
}

/** What a list changes. */
interface Plan extends Omit<ImportAnswer, 'applied' | 'change_id'> {
  readonly values_of: readonly CorrectedValue[]
  /** Milliseconds. */
  readonly lastAt: number
}

/** The values in effect of a company. */
type Values = Map<string, string>

/**
 * Imports lists of companies: facts about those that have visited, and about those that will. A list is one change of the log of corrections,
 * stored whole or not at all. The same list again changes nothing.
 */
export class CompanyImports {
  readonly #client: () => ClickHouseClient
  readonly #corrections: Pick<CompanyCorrections, 'changeMany'>

  /** @param client of the database `ipid`; throws when there is none */
  constructor(client: () => ClickHouseClient, corrections: Pick<CompanyCorrections, 'changeMany'>) {
    this.#client = client
    this.#corrections = corrections
  }

  /**
   * Applies a list, or only shows what it would do.
   * @throws InputError when a choice cannot be followed, or no column finds the company; UnavailableError when ClickHouse does not answer
   */
  async import(tenantId: string, list: CompanyList, options: ImportOptions): Promise<ImportAnswer> {
    const { by, change_id: changeId, dry_run: isDryRun = false } = options
    if (isDryRun) return answerOf(await this.#plan(tenantId, list, options), null)
    let plan: Plan | undefined
    const done = await this.#corrections.changeMany(tenantId, { by, changeId }, async () => {
      plan = await this.#plan(tenantId, list, options)
      return { rows: plan.values_of, lastAt: plan.lastAt }
    })
    const isRepeat = plan === undefined
    plan ??= await this.#plan(tenantId, list, options)
    return answerOf(plan, isRepeat || plan.values > 0 ? done.change_id : null)
  }

  async #plan(tenantId: string, list: CompanyList, options: ImportOptions): Promise<Plan> {
    const form: ValueForm = { decimal: list.decimal, dateOrder: options.date_order }
    const own = readColumns(await this.#rows(tenantId, OWN_COLUMNS_SQL))
    const { shown, used } = columnsOf(list, own, options.map ?? {}, form)
    if (!used.some(({ target }) => target === 'domain' || target === 'name')) {
      if (!options.dry_run) throw new InputError(NO_KEY)
      const nothing = new PlanBuilder([], new Map(), { clearsEmpty: false }).end()
      return { ...nothing, rows: list.rows.length, columns: [...shown], lastAt: 0, problem: NO_KEY }
    }
    const facts = used.filter(({ target }) => target !== 'domain' && target !== 'name')
    const keys = list.rows.map((row) => keyOf(row, list, used))
    const finder = await this.#finder(tenantId, keys)
    const slice = new TimeSlice()
    const matched: { readonly row: ListRow; readonly key: string; readonly match: Match }[] = []
    const lineOf = new Map<string, number>()
    for (const [i, row] of list.rows.entries()) {
      if (slice.isOver) await slice.next()
      const key = keys[i]!
      let match: Match = 'reason' in key ? key : 'domain' in key ? finder.byDomain(key.domain) : finder.byName(key.name)
      if (!('reason' in match)) {
        const line = lineOf.get(match.company_id)
        if (line === undefined) lineOf.set(match.company_id, row.line)
        else match = { reason: `line ${line} is this company already: ${match.company_id}` }
      }
      matched.push({ row, key: key.text, match })
    }
    const { held, lastAt } = await this.#held(tenantId, ['', ...lineOf.keys()], facts)
    const plan = new PlanBuilder(facts, held, { ...form, clearsEmpty: options.clear_empty === true })
    for (const { row, key, match } of matched) {
      if (slice.isOver) await slice.next()
      plan.add(row, key, match)
    }
    return { ...plan.end(), columns: [...shown], lastAt, problem: null }
  }

  async #finder(tenantId: string, keys: readonly Key[]): Promise<CompanyFinder> {
    const [corrected = { merged: [], hidden: [] }] = await this.#rows<Corrected>(tenantId, CORRECTED_SQL)
    const wanted = {
      domains: new Set(keys.flatMap((key) => ('domain' in key ? [key.domain] : []))),
      names: new Set(keys.flatMap((key) => ('name' in key ? [key.name] : []))),
    }
    return new CompanyFinder(corrected, await this.#rows<FoundCompany>(tenantId, wantedSql(corrected, wanted)))
  }

  /** The values in effect of these companies in the fields of these columns. */
  async #held(
    tenantId: string,
    companies: readonly string[],
    columns: readonly UsedColumn[],
  ): Promise<{ readonly held: ReadonlyMap<string, Values>; readonly lastAt: number }> {
    const held = new Map<string, Values>()
    let lastAt = 0
    const fields = columns.map(fieldOf)
    if (fields.length === 0) return { held, lastAt }
    for (let at = 0; at < companies.length; at += COMPANIES_AT_A_TIME) {
      const part = companies.slice(at, at + COMPANIES_AT_A_TIME)
      const rows = await this.#rows<{ company_id: string; field: string; held: string; at_ms: number }>(
        tenantId,
        `SELECT company_id, field, argMax(log.value, (log.at, log.change_id)) AS held, toUnixTimestamp64Milli(max(log.at)) AS at_ms
         FROM (
           SELECT * FROM ${CORRECTIONS}
           WHERE tenant_id = {tenant:String} AND company_id IN (${part.map(quote).join()}) AND field IN (${fields.map(quote).join()})
         ) AS log
         GROUP BY company_id, field`,
      )
      for (const { company_id, field, held: value, at_ms } of rows) {
        const values = held.get(company_id) ?? new Map<string, string>()
        held.set(company_id, values.set(field, value))
        lastAt = Math.max(lastAt, at_ms)
      }
    }
    return { held, lastAt }
  }

  async #rows<T>(tenantId: string, query: string): Promise<T[]> {
    try {
      const result = await this.#client().query({
        query,
        query_params: { tenant: tenantId },
        format: 'JSONEachRow',
        clickhouse_settings: SETTINGS,
      })
      const found: T[] = []
      for await (const rows of result.stream<T>()) for (const row of rows) found.push(row.json<T>())
      return found
    } catch (error) {
      throw unavailable(error)
    }
  }
}

/** What finds the company of a row. */
type Key = { readonly text: string } & (
  | { readonly domain: string }
  | { readonly name: string }
  | { readonly reason: string }
)

const TEXT_SHOWN_CHARS = 100

function keyOf({ cells }: ListRow, { header }: CompanyList, used: readonly UsedColumn[]): Key {
  const cell = (target: UsedColumn['target']) => {
    const column = used.find((one) => one.target === target)
    return column === undefined ? '' : cellOf(cells, column.index).slice(0, CORRECTION_LIMITS.idMaxChars)
  }
  const [site, name] = [cell('domain'), cell('name')]
  const text = (site === '' ? name : site).slice(0, TEXT_SHOWN_CHARS)
  const extra = cells.slice(header.length).some((field) => field.trim() !== '')
  if (extra) return { text, reason: `the row has ${cells.length} fields, and the header ${header.length}` }
  // An address of a person names the domain after its @.
  const domain = registrableDomain(domainIn(site.slice(site.lastIndexOf('@') + 1)) ?? '')
  if (domain !== undefined) return { text, domain }
  if (name !== '') return { text: name.slice(0, TEXT_SHOWN_CHARS), name }
  return { text, reason: site === '' ? 'the row has neither a domain nor a name' : `“${text}” is no domain` }
}

function fieldOf({ target, own }: Pick<UsedColumn, 'target' | 'own'>): string {
  return own === undefined ? target : ownField(own.key)
}

/** The name of a field in answers. */
function shownField(field: string): string {
  return field.startsWith(OWN) ? `own.${field.slice(OWN.length)}` : field
}

/** Collects what the rows of a list change. */
class PlanBuilder {
  readonly #columns: readonly UsedColumn[]
  readonly #held: ReadonlyMap<string, Values>
  readonly #form: ValueForm & { readonly clearsEmpty: boolean }
  readonly #values: CorrectedValue[] = []
  readonly #made = new Map<string, OwnColumn>()
  readonly #changedRows: ImportedRow[] = []
  readonly #waitingRows: ImportedRow[] = []
  readonly #unusedRows: ImportedRow[] = []
  readonly #problems: ImportAnswer['problems'] = []
  readonly #counts = { rows: 0, matched: 0, waiting: 0, unused: 0, changed: 0, cleared: 0, problem_count: 0 }

  constructor(
    columns: readonly UsedColumn[],
    held: ReadonlyMap<string, Values>,
    form: ValueForm & { readonly clearsEmpty: boolean },
  ) {
    this.#columns = columns
    this.#held = held
    this.#form = form
  }

  add(row: ListRow, key: string, match: Match): void {
    const counts = this.#counts
    counts.rows++
    if ('reason' in match) {
      counts.unused++
      const { reason } = match
      show(this.#unusedRows, { line: row.line, key, company_id: '', ...named(''), changes: [], reason })
      return
    }
    const { company_id, visited } = match
    const changes = this.#changesOf(row, company_id)
    if (changes.length > 0) counts.changed++
    if (visited === undefined) counts.waiting++
    else counts.matched++
    if (visited !== undefined && changes.length === 0) return
    const shown = changes.map(({ field, before, value }) => ({
      field: shownField(field),
      before: before.replaceAll('\n', ', '),
      value: value.replaceAll('\n', ', '),
    }))
    const rows = visited === undefined ? this.#waitingRows : this.#changedRows
    show(rows, { line: row.line, key, company_id, ...named(visited?.name ?? ''), changes: shown, reason: '' })
  }

  #changesOf({ line, cells }: ListRow, company_id: string): CorrectedValue[] {
    const found: CorrectedValue[] = []
    for (const column of this.#columns) {
      const field = fieldOf(column)
      const before = this.#held.get(company_id)?.get(field) ?? ''
      const text = cellOf(cells, column.index)
      if (text === '' && !this.#form.clearsEmpty) continue
      let value: string
      try {
        value = text === '' ? '' : cellValue(column, text, before, this.#form)
      } catch (error) {
        if (!(error instanceof InputError)) throw error
        this.#counts.problem_count++
        if (this.#problems.length < IMPORT_LIMITS.problems) {
          this.#problems.push({ line, column: column.header, reason: error.message })
        }
        continue
      }
      if (value === before) continue
      if (value === '') this.#counts.cleared++
      else if (column.own !== undefined && column.isNew) this.#made.set(column.own.key, column.own)
      const change = { company_id, field, value, before }
      found.push(change)
      this.#values.push(change)
    }
    return found
  }

  end(): Omit<Plan, 'columns' | 'lastAt' | 'problem'> {
    const definitions = [...this.#made.values()].map((column) => ({
      ...{ company_id: '', field: ownField(column.key), value: formatColumn(column), before: '' },
    }))
    return {
      ...this.#counts,
      values: this.#values.length,
      values_of: [...definitions, ...this.#values],
      changed_rows: this.#changedRows,
      waiting_rows: this.#waitingRows,
      unused_rows: this.#unusedRows,
      problems: this.#problems,
    }
  }
}

function named(name: string): Pick<ImportedRow, 'business_name' | 'name'> {
  return { business_name: name, name }
}

function show(rows: ImportedRow[], row: ImportedRow): void {
  if (rows.length < IMPORT_LIMITS.shown) rows.push(row)
}

/** @throws InputError that says what is wrong with the cell */
function cellValue({ target, own }: UsedColumn, text: string, before: string, form: ValueForm): string {
  if (own !== undefined) return readOwnValue(own.type, text, form)
  if (target === 'status') return readStatus(text)
  if (target === 'owner') return readDisplayName(text, 'an owner', CORRECTION_LIMITS.ownerMaxChars)
  const given = text.split(/[,;|\n]/).map((tag) => tag.trim())
  const tags = given
    .filter((tag) => tag !== '')
    .map((tag) => readDisplayName(tag, 'a tag', CORRECTION_LIMITS.tagMaxChars))
  const all = new Set([...(before === '' ? [] : before.split('\n')), ...tags])
  if (all.size > CORRECTION_LIMITS.tags) {
    throw new InputError(`the company would have ${all.size} tags: at most ${CORRECTION_LIMITS.tags} are allowed`)
  }
  return [...all].sort().join('\n')
}

function answerOf({ values_of: _, lastAt: __, ...plan }: Plan, changeId: string | null): ImportAnswer {
  return { applied: changeId !== null, change_id: changeId, ...plan }
}
