import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import {
  CORRECTION_LIMITS,
  type CompanyCorrection,
  type CorrectedAnswer,
  type CorrectionChange,
  type CorrectionWanted,
  type HidingChange,
} from '../../../schemas/dashboard/corrections.ts'
import type { FitLine } from '../../../schemas/dashboard/fit.ts'
import { DEFAULT_HEAT_WEIGHTS, type HeatWeights } from '../../../schemas/dashboard/heat.ts'
import type { IntentPages, IntentPagesWanted } from '../../../schemas/dashboard/intent-pages.ts'
import type { CountedColumn, OwnColumn } from '../../../schemas/facts.ts'
import type { Clock } from '../../run/clock.ts'
import { readDisplayName } from '../../run/display-name.ts'
import { InputError } from '../../run/errors.ts'
import { unavailable } from '../../stores/clickhouse/failures.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { CORRECTIONS, HIDDEN, HIDDEN_CHANGES } from '../../stores/clickhouse/tables.ts'
import { OWN, OWN_COLUMNS_SQL, ownField, readColumns, readOwnValue, readStatus } from '../facts.ts'
import { fitLinesOf, formatFit, type NamedLine } from '../fit.ts'
import { formatHeatWeights, heatWeightsOf } from '../heat.ts'
import { changedIntentPages, DEFAULT_INTENT_PAGES } from '../intent-pages.ts'
import { chainOf, endsOf, type Merges } from './merges.ts'

/** Condition on the company of the parameter `company`, and on those that are merged into it. */
const COMPANY_CONDITION = ` AND company_id IN (
  SELECT {company:String}
  UNION ALL
  SELECT company_id FROM corrected_companies WHERE tenant_id = {tenant:String} AND counts_for = {company:String})`

/** Runs work while no other process writes corrections. Rejects with `InputError` when the tenant is gone. */
export type CorrectionsLock = <T>(tenantId: string, work: () => Promise<T>) => Promise<T>

interface Authored {
  readonly by: string
  /** A repeat with the same id changes nothing. */
  readonly changeId?: string | undefined
}

interface Change extends Authored {
  readonly companies: readonly string[]
  readonly wanted: CorrectionWanted
}

/** The value of a field of a company that holds now. */
interface Held {
  readonly company_id: string
  readonly field: string
  readonly value: string
  readonly change_id: string
  /** Milliseconds. */
  readonly at: number
}

/** A row of the log. */
export interface CorrectedValue {
  readonly company_id: string
  readonly field: string
  readonly value: string
  readonly before: string
}

/** An owner or a status of a company in another system. */
export interface BroughtFact {
  readonly company_id: string
  readonly field: 'owner' | 'status'
  readonly value: string
  /** When it was set there, milliseconds. */
  readonly atMs: number
}

/** Companies of a tenant and the value that each field has now. */
type State = ReadonlyMap<string, ReadonlyMap<string, Held>>

/** Ids of companies are in the text of a query, because servers limit URLs to 16 KiB. */
const SETTINGS = { output_format_json_quote_64bit_integers: 0, max_query_size: '67108864' } as const
const NEAR_MATCHES = 3
/** Rows of an insert that are written before other work of the process gets its turn. */
const ROWS_AT_A_TIME = 500
/** Makes an insert one block, which ClickHouse stores whole or not at all: no change has more rows. */
const ONE_BLOCK = { input_format_parallel_parsing: 0, max_insert_block_size: '1048576' } as const
/** In the log, the settings of a tenant belong to no company. */
const NO_COMPANY = ''
/** Settings of a tenant in the log. */
export type TenantSetting = 'intent_pages' | 'heat_weights' | 'fit'
/** Settings that only admins change, and take back. */
const ADMIN_SETTINGS: ReadonlySet<string> = new Set<TenantSetting>(['heat_weights', 'fit'])

/**
 * Corrections of companies by people. Every call rejects with `UnavailableError` when ClickHouse does not answer, and with
 * `InputError` when it cannot be done.
 */
export class CompanyCorrections {
  readonly #client: () => ClickHouseClient
  readonly #clock: Clock
  readonly #lock: CorrectionsLock

  /** @param client of the database `ipid`, that may insert; throws when there is none */
  constructor(client: () => ClickHouseClient, clock: Clock, lock: CorrectionsLock) {
    this.#client = client
    this.#clock = clock
    this.#lock = lock
  }

  /** Corrects companies, as one change. All of them or none. */
  async correct(tenantId: string, change: Change): Promise<CorrectedAnswer> {
    const { by, changeId = randomUUID() } = change
    if (Object.values(change.wanted).every((value) => value === undefined))
      throw new InputError('nothing to correct is named')
    const companies = [...new Set(change.companies)]
    const texts = readTexts(change.wanted)
    return await this.#lock(tenantId, async () => {
      const done = await this.#changeOf(tenantId, changeId)
      if (done !== undefined) return done
      const { own } = texts
      const wanted = own === undefined ? texts : { ...texts, own: readOwn(own, await this.#definitions(tenantId)) }
      const into = wanted.merged_into ?? ''
      await this.#assertKnown(tenantId, into === '' ? companies : [...companies, into])
      const state = await this.#state(tenantId, companies)
      const rows = companies.flatMap((company) => {
        // Several companies may be merged into one of them, which stays.
        const isTarget = company === into && companies.length > 1
        return rowsOf(company, isTarget ? { ...wanted, merged_into: undefined } : wanted, state.get(company))
      })
      return await this.#write(tenantId, { rows, state, by, changeId, undoes: '' })
    })
  }

  /** The intent pages of a tenant, which heat looks for. */
  async intentPages(tenantId: string): Promise<IntentPages> {
    return intentPagesOf(await this.#heldSetting(tenantId, 'intent_pages'))
  }

  /** Changes the intent pages, for stored events too. */
  async setIntentPages(
    tenantId: string,
    { wanted, ...authored }: Authored & { readonly wanted: IntentPagesWanted },
  ): Promise<CorrectedAnswer> {
    return await this.#set(tenantId, 'intent_pages', authored, (before) => {
      const { pages, is_default } = changedIntentPages(intentPagesOf(before), wanted)
      return is_default ? '' : pages.join('\n')
    })
  }

  /** The points of each part of heat. */
  async heatWeights(tenantId: string): Promise<HeatWeights> {
    return heatWeightsOf({ heat_weights: await this.#heldSetting(tenantId, 'heat_weights') })
  }

  async setHeatWeights(
    tenantId: string,
    { weights, ...authored }: Authored & { readonly weights: HeatWeights },
  ): Promise<CorrectedAnswer> {
    const text = formatHeatWeights(weights)
    const value = text === formatHeatWeights(DEFAULT_HEAT_WEIGHTS) ? '' : text
    return await this.#set(tenantId, 'heat_weights', authored, () => value)
  }

  /** What a tenant says about good companies. */
  async fit(tenantId: string): Promise<NamedLine[]> {
    return fitLinesOf({ fit: await this.#heldSetting(tenantId, 'fit') })
  }

  /** @param lines all of them; none: no company has a fit */
  async setFit(
    tenantId: string,
    { lines, ...authored }: Authored & { readonly lines: readonly FitLine[] },
  ): Promise<CorrectedAnswer> {
    const value = formatFit(lines)
    return await this.#set(tenantId, 'fit', authored, () => value)
  }

  /** The value of a setting that holds; empty: the default. */
  async #heldSetting(tenantId: string, setting: TenantSetting): Promise<string> {
    return held(await this.#state(tenantId, [NO_COMPANY], false), NO_COMPANY, setting)?.value ?? ''
  }

  async #set(
    tenantId: string,
    field: TenantSetting,
    { by, changeId = randomUUID() }: Authored,
    changed: (before: string) => string,
  ): Promise<CorrectedAnswer> {
    return await this.#lock(tenantId, async () => {
      const done = await this.#changeOf(tenantId, changeId)
      if (done !== undefined) return done
      const state = await this.#state(tenantId, [NO_COMPANY], false)
      const before = held(state, NO_COMPANY, field)?.value ?? ''
      const value = changed(before)
      const rows = value === before ? [] : [{ company_id: NO_COMPANY, field, value, before }]
      return await this.#write(tenantId, { rows, state, by, changeId, undoes: '' })
    })
  }

  /** Columns of the tenant's own, in the order of their keys. */
  async columns(tenantId: string): Promise<CountedColumn[]> {
    const [columns, used] = await Promise.all([
      this.#definitions(tenantId),
      this.#rows<{ field: string; companies: number }>(
        `SELECT field, count() AS companies
         FROM (${HELD_OWN})
         WHERE held != ''
         GROUP BY field`,
        { tenant: tenantId },
      ),
    ])
    const counts = new Map(used.map(({ field, companies }) => [field, companies]))
    return columns.map((column) => ({ ...column, companies: counts.get(ownField(column.key)) ?? 0 }))
  }

  /** Removes an own column with its values. */
  async removeColumn(
    tenantId: string,
    { key, by }: { readonly key: string; readonly by: string },
  ): Promise<CorrectedAnswer> {
    return await this.#lock(tenantId, async () => {
      const field = ownField(key)
      const columns = await this.#definitions(tenantId)
      if (!columns.some((column) => column.key === key)) throw new InputError(unknownColumn(key, columns))
      const held = await this.#rows<{ company_id: string; held: string; at: number }>(
        `SELECT company_id, argMax(log.value, (log.at, log.change_id)) AS held, toUnixTimestamp64Milli(max(log.at)) AS at
         FROM (SELECT * FROM ${CORRECTIONS} WHERE tenant_id = {tenant:String} AND field = {field:String}) AS log
         GROUP BY company_id
         HAVING held != ''`,
        { tenant: tenantId, field },
      )
      const rows = held.map(({ company_id, held: before }) => ({ company_id, field, value: '', before }))
      const lastAt = held.reduce((last, { at }) => Math.max(last, at), 0)
      return await this.#insert(tenantId, { rows, lastAt, by, changeId: randomUUID(), undoes: '' })
    })
  }

  async #definitions(tenantId: string): Promise<OwnColumn[]> {
    return readColumns(await this.#rows(OWN_COLUMNS_SQL, { tenant: tenantId }))
  }

  /**
   * Writes the values that `plan` returns, as one change: all of them or none, however many. Other corrections of the tenant wait meanwhile.
   * @param plan gets the written change when there is one with this id, and then returns no values. `lastAt` is the newest time of the values
   *   that it replaces, in milliseconds
   */
  async changeMany(
    tenantId: string,
    { by, changeId = randomUUID() }: Authored,
    plan: () => Promise<{ readonly rows: readonly CorrectedValue[]; readonly lastAt: number }>,
  ): Promise<CorrectedAnswer> {
    return await this.#lock(tenantId, async () => {
      const done = await this.#changeOf(tenantId, changeId)
      if (done !== undefined) return done
      return await this.#insert(tenantId, { ...(await plan()), by, changeId, undoes: '' })
    })
  }

  /**
   * Applies owners and statuses that another system holds, as one change by `by`. A value that a person gave here stays when it is newer,
   * or when the system still has the value that it brought last: its clock may be ahead of ours. An empty value ends only one that the
   * system brought.
   * @param values at most one of a company and field; texts that are no owner or status are left out
   * @returns how many companies changed
   */
  async bring(tenantId: string, by: string, values: readonly BroughtFact[]): Promise<number> {
    const plan = async () => {
      const state = new Map(
        (
          await this.#rows<BroughtFact & { readonly by: string; readonly brought: string }>(
            `SELECT
               company_id, field, argMax(log.value, (log.at, log.change_id)) AS value,
               argMax(log.by, (log.at, log.change_id)) AS by, toUnixTimestamp64Milli(max(log.at)) AS atMs,
               argMaxIf(log.value, (log.at, log.change_id), log.by = {by:String}) AS brought
             FROM (SELECT * FROM ${CORRECTIONS} WHERE tenant_id = {tenant:String} AND field IN ('owner', 'status')) AS log
             GROUP BY company_id, field`,
            { tenant: tenantId, by },
          )
        ).map((held) => [`${held.field} ${held.company_id}`, held]),
      )
      let lastAt = 0
      const rows: CorrectedValue[] = []
      for (const { company_id, field, value: given, atMs } of values) {
        const held = state.get(`${field} ${company_id}`)
        const value = factOf(field, given)
        if (value === undefined || value === (held?.value ?? '')) continue
        const isOurs = held === undefined || held.by === by
        if (!isOurs && (value === '' || value === held.brought || held.atMs >= atMs)) continue
        rows.push({ company_id, field, value, before: held?.value ?? '' })
        lastAt = Math.max(lastAt, held?.atMs ?? 0)
      }
      return { rows, lastAt }
    }
    // Others do not wait while nothing changes.
    if ((await plan()).rows.length === 0) return 0
    return (await this.changeMany(tenantId, { by }, plan)).companies
  }

  /**
   * Undoes a change, as a new change. An undo can be undone too. An own column that it made stays while other values need it.
   * @param isAdmin whether settings that only admins change may change
   */
  undo(
    tenantId: string,
    { changeId, by, isAdmin = false }: { readonly changeId: string; readonly by: string; readonly isAdmin?: boolean },
  ): Promise<CorrectedAnswer> {
    return this.#lock(tenantId, async () => {
      const rows = await this.#rows<CorrectedValue>(
        `SELECT DISTINCT company_id, field, value, before
         FROM ${CORRECTIONS}
         WHERE tenant_id = {tenant:String} AND change_id = {change:String} AND field != 'counts_for'`,
        { tenant: tenantId, change: changeId },
      )
      if (rows.length === 0)
        throw new InputError(`tenant ${tenantId} has no change "${changeId.slice(0, 100)}" of companies`)
      if (!isAdmin && rows.some(({ company_id, field }) => company_id === NO_COMPANY && ADMIN_SETTINGS.has(field)))
        throw new InputError('only admins of this workspace may take this change back: ask one of them')
      const companies = [...new Set(rows.map(({ company_id }) => company_id))]
      const logs = await this.#logs(tenantId, companies)
      for (const { company_id, field } of rows) {
        const log = logs.get(`${field} ${company_id}`)!
        if (undoable(log).has(changeId)) continue
        const undone = await this.#undoOf(tenantId, changeId)
        if (undone !== undefined) return undone
        throw new InputError(
          `${field} of ${company_id || tenantId} was corrected again later, by change ${log.at(-1)!.change_id}: undo that one first`,
        )
      }
      const state = await this.#state(tenantId, companies)
      const needed = await this.#neededColumns(tenantId, rows)
      const undone = rows.filter(
        ({ company_id, field, before }) => company_id !== '' || before !== '' || !needed.has(field),
      )
      const back = undone.map(({ company_id, field, value, before }) => ({
        company_id,
        field,
        value: before,
        before: value,
      }))
      return await this.#write(tenantId, { rows: back, state, by, changeId: randomUUID(), undoes: changeId })
    })
  }

  /** Fields of the own columns among these rows that companies outside of them have values in. */
  async #neededColumns(tenantId: string, rows: readonly CorrectedValue[]): Promise<ReadonlySet<string>> {
    const made = rows.filter(({ company_id, field }) => company_id === '' && field.startsWith(OWN))
    if (made.length === 0) return new Set()
    const undone = new Set(rows.map(({ company_id, field }) => `${field} ${company_id}`))
    const held = await this.#rows<{ company_id: string; field: string }>(
      `SELECT company_id, field FROM (${HELD_OWN}) WHERE held != '' AND field IN (${made.map(({ field }) => quote(field)).join()})`,
      { tenant: tenantId },
    )
    return new Set(held.flatMap(({ company_id, field }) => (undone.has(`${field} ${company_id}`) ? [] : [field])))
  }

  /** Corrections in effect, by company in the order of ids. @param companies undefined: all */
  async list(tenantId: string, companies?: readonly string[]): Promise<CompanyCorrection[]> {
    const [state, mergedFrom] = await Promise.all([
      this.#state(tenantId, companies, false),
      this.#mergedFrom(tenantId, companies),
    ])
    const found = [...new Set([...state.keys(), ...mergedFrom.keys()])].map((company_id) => {
      const fields = state.get(company_id) ?? new Map<string, Held>()
      const textOf = (field: string) => fields.get(field)?.value ?? ''
      return {
        company_id,
        hidden: textOf('hidden') !== '',
        name: textOf('name'),
        merged_into: textOf('merged_into'),
        counts_for: textOf('counts_for'),
        merged_from: [...(mergedFrom.get(company_id) ?? [])],
        note: textOf('note'),
        tags: tagsOf(textOf('tags')),
        owner: textOf('owner'),
        status: textOf('status'),
        own: ownOf(fields),
      }
    })
    return found
      .filter(
        ({ company_id, ...fields }) =>
          company_id !== NO_COMPANY &&
          Object.values(fields).some((value) => (typeof value === 'object' ? Object.keys(value).length > 0 : value)),
      )
      .sort((a, b) => (a.company_id < b.company_id ? -1 : 1))
  }

  /** The first companies that count for each of these. @param companies undefined: all */
  async #mergedFrom(tenantId: string, companies?: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const of = companies === undefined ? '' : `AND counts_for IN (${['', ...companies].map(quote).join()})`
    const rows = await this.#rows<{ target: string; merged: string[] }>(
      `SELECT counts_for AS target, arraySlice(arraySort(groupArray(company_id)), 1, ${CORRECTION_LIMITS.mergedShown}) AS merged
       FROM corrected_companies
       WHERE tenant_id = {tenant:String} AND counts_for != '' ${of}
       GROUP BY counts_for`,
      { tenant: tenantId },
    )
    return new Map(rows.map(({ target, merged }) => [target, merged]))
  }

  /** The newest changes first. @param company only changes of this one, and merges into it */
  async history(tenantId: string, company?: string): Promise<CorrectionChange[]> {
    const ofMerges = "field = 'merged_into' AND {company:String} IN (value, before)"
    const of = company === undefined ? '' : `AND (company_id = {company:String} OR (${ofMerges}))`
    return await this.#changes(tenantId, of, { company: company ?? '' })
  }

  /** Changes of a setting, the newest first. */
  async settingHistory(tenantId: string, setting: TenantSetting): Promise<CorrectionChange[]> {
    return await this.#changes(tenantId, `AND company_id = '${NO_COMPANY}' AND field = {setting:String}`, { setting })
  }

  async #changes(tenantId: string, of: string, parameters: Record<string, string>): Promise<CorrectionChange[]> {
    const rows = await this.#rows<Omit<CorrectionChange, 'undoes' | 'undone_by' | 'corrections'> & HistoryRow>(
      `SELECT
         change_id, toUnixTimestamp64Milli(max(at)) AS ms, any(by) AS by, any(undoes) AS undoes,
         ${COMPANIES} AS companies,
         arraySlice(arrayDistinct(groupArraySorted(${2 * CORRECTION_LIMITS.shown})((${SHOWN}))), 1, ${CORRECTION_LIMITS.shown}) AS shown,
         arrayMap(one -> (one.2, one.3, one.4, one.5), shown) AS corrections,
         groupUniqArray(undone) AS undone
       FROM ${CORRECTIONS}
       LEFT JOIN
       (
         SELECT back.undoes AS change_id, any(back.change_id) AS undone
         FROM ${CORRECTIONS} AS back
         WHERE tenant_id = {tenant:String} AND undoes != ''
         GROUP BY back.undoes
       ) AS taken_back USING change_id
       WHERE tenant_id = {tenant:String} AND field != 'counts_for' ${of}
       GROUP BY change_id
       ORDER BY ms DESC, change_id
       LIMIT ${CORRECTION_LIMITS.history}`,
      { tenant: tenantId, ...parameters },
    )
    return rows.map(({ change_id, ms, by, undoes, companies, corrections, undone }) => ({
      ...{ change_id, at: new Date(ms).toISOString(), by, companies },
      undoes: undoes === '' ? null : undoes,
      undone_by: undone[0] || null,
      corrections: corrections.map(([company_id, field, before, value]) => ({ company_id, field, before, value })),
    }))
  }

  /** Events that rules hid and showed again, newest first. @param company only of this one, and of those that count for it; `''`: none */
  async hidings(tenantId: string, company?: string): Promise<HidingChange[]> {
    if (company === '') return []
    const rows = await this.#rows<Omit<HidingChange, 'at'> & { readonly ms: number }>(
      `SELECT company_id, toUnixTimestamp64Milli(log.at) AS ms, by, action, rule, events
       FROM ${HIDDEN_CHANGES} AS log
       WHERE tenant_id = {tenant:String}${company === undefined ? '' : COMPANY_CONDITION}
       ORDER BY ms DESC, company_id, action, rule
       LIMIT ${CORRECTION_LIMITS.history}`,
      { tenant: tenantId, company: company ?? '' },
    )
    return rows.map(({ ms, ...rest }) => ({ ...rest, at: new Date(ms).toISOString() }))
  }

  /** Inserts the rows of a change, and rows for the chains of merges that now end elsewhere. */
  async #write(
    tenantId: string,
    {
      rows,
      state,
      by,
      changeId,
      undoes,
    }: {
      readonly rows: readonly CorrectedValue[]
      readonly state: State
      readonly by: string
      readonly changeId: string
      readonly undoes: string
    },
  ): Promise<CorrectedAnswer> {
    let lastAt = 0
    for (const fields of state.values()) for (const { at } of fields.values()) lastAt = Math.max(lastAt, at)
    return await this.#insert(tenantId, { rows, further: endRows(state, rows), lastAt, by, changeId, undoes })
  }

  /** Inserts rows as one block. @param further rows that follow from these */
  async #insert(
    tenantId: string,
    {
      rows,
      further = [],
      lastAt,
      by,
      changeId,
      undoes,
    }: {
      readonly rows: readonly CorrectedValue[]
      readonly further?: readonly CorrectedValue[]
      readonly lastAt: number
      readonly by: string
      readonly changeId: string
      readonly undoes: string
    },
  ): Promise<CorrectedAnswer> {
    // A clock that was set back must not make an older value win.
    const at = Math.max(this.#clock.now(), lastAt + 1)
    const iso = new Date(at).toISOString()
    const answer = { change_id: changeId, at: iso, by }
    if (rows.length === 0) return { ...answer, companies: 0 }
    const stamp = { tenant_id: tenantId, at: iso.replace('T', ' ').replace('Z', ''), change_id: changeId, by, undoes }
    try {
      await this.#client().insert({
        table: CORRECTIONS,
        values: Readable.from(stamped([...rows, ...further], stamp)),
        format: 'JSONEachRow',
        clickhouse_settings: { insert_deduplication_token: changeId, ...ONE_BLOCK },
      })
    } catch (error) {
      throw unavailable(error)
    }
    const companies = new Set(rows.flatMap(({ company_id }) => (company_id === '' ? [] : [company_id])))
    return { ...answer, companies: Math.max(1, companies.size) }
  }

  /** Corrections in effect of these companies, and all merges of the tenant. @param companies undefined: all */
  async #state(tenantId: string, companies?: readonly string[], withMerges = true): Promise<State> {
    const merges = withMerges ? " OR field IN ('merged_into', 'counts_for')" : ''
    const of = companies === undefined ? '' : `AND (company_id IN (${companies.map(quote).join()})${merges})`
    const rows = await this.#rows<Held>(
      `SELECT
         company_id, field, argMax(log.value, (log.at, log.change_id)) AS value,
         argMax(log.change_id, (log.at, log.change_id)) AS change_id, toUnixTimestamp64Milli(max(log.at)) AS at
       FROM (SELECT * FROM ${CORRECTIONS} WHERE tenant_id = {tenant:String} ${of}) AS log
       GROUP BY company_id, field`,
      { tenant: tenantId },
    )
    const state = new Map<string, Map<string, Held>>()
    for (const row of rows) {
      const fields = state.get(row.company_id) ?? new Map<string, Held>()
      state.set(row.company_id, fields.set(row.field, row))
    }
    return state
  }

  /** The changes of each field of these companies, oldest first. */
  async #logs(tenantId: string, companies: readonly string[]): Promise<ReadonlyMap<string, readonly Logged[]>> {
    const rows = await this.#rows<Logged & { company_id: string; field: string }>(
      `SELECT DISTINCT company_id, field, at, change_id, undoes
       FROM ${CORRECTIONS}
       WHERE tenant_id = {tenant:String} AND company_id IN (${companies.map(quote).join()}) AND field != 'counts_for'
       ORDER BY at, change_id`,
      { tenant: tenantId },
    )
    const logs = new Map<string, Logged[]>()
    for (const { company_id, field, ...logged } of rows) {
      const key = `${field} ${company_id}`
      logs.set(key, [...(logs.get(key) ?? []), logged])
    }
    return logs
  }

  /** @throws InputError that names an unknown company, and similar ones */
  async #assertKnown(tenantId: string, companies: readonly string[]): Promise<void> {
    const among = `company_id IN (${companies.map(quote).join()})`
    const found = await this.#rows<{ company_id: string }>(
      `SELECT company_id FROM events WHERE tenant_id = {tenant:String} AND ${among} GROUP BY company_id
       UNION DISTINCT SELECT company_id FROM ${HIDDEN} WHERE tenant_id = {tenant:String} AND ${among} GROUP BY company_id
       UNION DISTINCT SELECT company_id FROM ${CORRECTIONS} WHERE tenant_id = {tenant:String} AND ${among}`,
      { tenant: tenantId },
    )
    const known = new Set(found.map(({ company_id }) => company_id))
    const unknown = companies.find((company) => !known.has(company))
    if (unknown === undefined) return
    const near = await this.#rows<{ company_id: string }>(
      `SELECT company_id FROM events WHERE tenant_id = {tenant:String} AND company_id > '' GROUP BY company_id
       ORDER BY ngramDistanceCaseInsensitiveUTF8(company_id, {company:String}), company_id LIMIT ${NEAR_MATCHES}`,
      { tenant: tenantId, company: unknown },
    )
    const names = near.map(({ company_id }) => JSON.stringify(company_id)).join(', ')
    const hint = names === '' ? 'the tenant has no companies yet' : `similar ones are ${names}`
    throw new InputError(`tenant ${tenantId} has no company ${JSON.stringify(unknown.slice(0, 100))}: ${hint}`)
  }

  /** A change that was written. */
  async #changeOf(tenantId: string, changeId: string): Promise<CorrectedAnswer | undefined> {
    return await this.#written(tenantId, 'change_id = {change:String}', changeId)
  }

  /** The change that undid another one. */
  async #undoOf(tenantId: string, changeId: string): Promise<CorrectedAnswer | undefined> {
    return await this.#written(tenantId, 'undoes = {change:String}', changeId)
  }

  async #written(tenantId: string, condition: string, changeId: string): Promise<CorrectedAnswer | undefined> {
    const [found] = await this.#rows<Omit<CorrectedAnswer, 'at'> & { readonly ms: number }>(
      `SELECT change_id, toUnixTimestamp64Milli(max(at)) AS ms, any(by) AS by, ${COMPANIES} AS companies
       FROM ${CORRECTIONS} WHERE tenant_id = {tenant:String} AND ${condition} GROUP BY change_id ORDER BY ms DESC LIMIT 1`,
      { tenant: tenantId, change: changeId },
    )
    if (found === undefined) return undefined
    const { ms, ...rest } = found
    return { ...rest, at: new Date(ms).toISOString() }
  }

  async #rows<T>(query: string, parameters: Record<string, string>): Promise<T[]> {
    try {
      const result = await this.#client().query({
        query,
        query_params: parameters,
        format: 'JSONEachRow',
        clickhouse_settings: SETTINGS,
      })
      return await result.json<T>()
    } catch (error) {
      throw unavailable(error)
    }
  }
}

/** The values in effect of own columns, by company. */
const HELD_OWN = `
  SELECT company_id, field, argMax(log.value, (log.at, log.change_id)) AS held
  FROM ${CORRECTIONS} AS log
  WHERE tenant_id = {tenant:String} AND company_id != '' AND startsWith(field, '${OWN}')
  GROUP BY company_id, field`

/** Companies that changed; 1 for a setting and a column without values. */
const COMPANIES = "greatest(1, uniqExactIf(company_id, company_id != '' AND field != 'counts_for'))"
/** The first corrections of a change, definitions of columns last. */
const SHOWN = "company_id = '', company_id, field, before, value"

async function* stamped(rows: readonly CorrectedValue[], stamp: object): AsyncGenerator<object> {
  for (const [i, row] of rows.entries()) {
    if (i % ROWS_AT_A_TIME === ROWS_AT_A_TIME - 1) await setImmediate()
    yield { ...row, ...stamp }
  }
}

function unknownColumn(key: string, columns: readonly OwnColumn[]): string {
  const names = columns.map((column) => column.key).join(', ')
  const hint = columns.length === 0 ? 'there are none yet: import a list with one' : `there are ${names}`
  return `there is no own column ${JSON.stringify(key.slice(0, 60))}: ${hint}`
}

function ownOf(fields: ReadonlyMap<string, Held>): Record<string, string> {
  const own = [...fields].filter(([field, { value }]) => field.startsWith(OWN) && value !== '')
  return Object.fromEntries(own.map(([field, { value }]) => [field.slice(OWN.length), value]).sort())
}

interface Logged {
  readonly change_id: string
  /** Empty: it undoes none. */
  readonly undoes: string
}

/**
 * The changes of a field whose undo would lose no later one: the last, and, if that is an undo, the one before it.
 * @param log oldest first
 */
function undoable(log: readonly Logged[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (let at = log.length - 1; at >= 0; ) {
    const { change_id, undoes } = log[at]!
    found.add(change_id)
    if (undoes === '') break
    at = log.findIndex((logged) => logged.change_id === undoes) - 1
  }
  return found
}

interface HistoryRow {
  readonly ms: number
  readonly undoes: string
  readonly undone: readonly string[]
  readonly corrections: readonly (readonly [company: string, field: string, before: string, value: string])[]
}

function held(state: State, company: string, field: string): Held | undefined {
  return state.get(company)?.get(field)
}

function intentPagesOf(value: string): IntentPages {
  return value === '' ? DEFAULT_INTENT_PAGES : { pages: value.split('\n'), is_default: false }
}

function tagsOf(value: string): string[] {
  return value === '' ? [] : value.split('\n')
}

/** Rows for the fields that change. @throws InputError for too many tags, or a merge into itself */
function rowsOf(
  company: string,
  wanted: CorrectionWanted,
  fields: ReadonlyMap<string, Held> | undefined,
): CorrectedValue[] {
  const { hidden, name, merged_into, note, owner, status, own = {}, add_tags, remove_tags } = wanted
  if (merged_into === company) throw new InputError(`${JSON.stringify(company)} cannot be merged into itself`)
  const before = (field: string) => fields?.get(field)?.value ?? ''
  const tags = new Set([...tagsOf(before('tags')), ...(add_tags ?? [])])
  for (const tag of remove_tags ?? []) tags.delete(tag)
  if (tags.size > CORRECTION_LIMITS.tags) {
    throw new InputError(`${company} would have ${tags.size} tags: at most ${CORRECTION_LIMITS.tags} are allowed`)
  }
  const values: Record<string, string | undefined> = {
    hidden: hidden === undefined ? undefined : hidden ? 'yes' : '',
    ...{ name, merged_into, note: note?.trim(), owner, status },
    ...Object.fromEntries(Object.entries(own).map(([key, value]) => [ownField(key), value])),
    tags: add_tags === undefined && remove_tags === undefined ? undefined : [...tags].sort().join('\n'),
  }
  return Object.entries(values).flatMap(([field, value]) =>
    value === undefined || value === before(field)
      ? []
      : [{ company_id: company, field, value, before: before(field) }],
  )
}

/** Names, owners, statuses and tags as they are kept. Any tag can be removed. */
function readTexts(wanted: CorrectionWanted): CorrectionWanted {
  const { name, owner, status, add_tags } = wanted
  const { nameMaxChars, ownerMaxChars, tagMaxChars } = CORRECTION_LIMITS
  const orNone = (text: string, what: string, max: number) =>
    text.trim() === '' ? '' : readDisplayName(text, what, max)
  return {
    ...wanted,
    ...(name !== undefined && { name: orNone(name, "a company's name", nameMaxChars) }),
    ...(owner !== undefined && { owner: orNone(owner, 'an owner', ownerMaxChars) }),
    ...(status !== undefined && { status: readStatus(status) }),
    ...(add_tags && { add_tags: add_tags.map((tag) => readDisplayName(tag, 'a tag', tagMaxChars)) }),
  }
}

/** The value as it is kept; undefined: it is none. */
function factOf(field: BroughtFact['field'], value: string): string | undefined {
  try {
    return readTexts({ [field]: value })[field]
  } catch (error) {
    if (error instanceof InputError) return undefined
    throw error
  }
}

/** Values of own columns as they are kept. @throws InputError for an unknown column, or a value of another type */
function readOwn(own: Readonly<Record<string, string>>, columns: readonly OwnColumn[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(own).map(([key, value]) => {
      const column = columns.find((known) => known.key === key)
      if (column === undefined) throw new InputError(unknownColumn(key, columns))
      try {
        return [key, readOwnValue(column.type, value)]
      } catch (error) {
        throw new InputError(`${column.name}: ${(error as Error).message}`)
      }
    }),
  )
}

/**
 * Rows for the companies whose chain of merges ends elsewhere after the new rows.
 * @throws InputError for a merge in a circle, or too many merges
 */
function endRows(state: State, rows: readonly CorrectedValue[]): CorrectedValue[] {
  const changed = rows.filter(({ field }) => field === 'merged_into')
  if (changed.length === 0) return []
  const old = [...state.values()].flatMap((fields) => fields.get('merged_into') ?? [])
  const merges = new Map(
    old
      .filter(({ value }) => value !== '')
      .sort((a, b) => a.at - b.at || (a.change_id < b.change_id ? -1 : 1))
      .map(({ company_id, value }) => [company_id, value]),
  )
  for (const { company_id, value } of changed) {
    merges.delete(company_id)
    if (value !== '') merges.set(company_id, value)
  }
  assertNoCircle(merges, changed)
  if (merges.size > CORRECTION_LIMITS.merges) {
    throw new InputError(`a tenant has at most ${CORRECTION_LIMITS.merges} merged companies`)
  }
  const ends = endsOf(merges)
  const concerned = new Set([...ends.keys(), ...state.keys(), ...changed.map(({ company_id }) => company_id)])
  return [...concerned].flatMap((company_id) => {
    const before = held(state, company_id, 'counts_for')?.value ?? ''
    const value = ends.get(company_id) ?? ''
    return value === before ? [] : [{ company_id, field: 'counts_for', value, before }]
  })
}

function assertNoCircle(merges: Merges, changed: readonly CorrectedValue[]): void {
  for (const { company_id, value } of changed) {
    if (value === '') continue
    const chain = chainOf(value, merges)
    if (!chain.includes(company_id)) continue
    const way = [company_id, ...chain.slice(0, chain.indexOf(company_id) + 1)]
      .map((id) => JSON.stringify(id))
      .join(' into ')
    throw new InputError(`companies cannot be merged in a circle: ${way}`)
  }
}
