import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { botOf } from '../../enrichment/bots/user-agent.ts'
import { tsv } from '../../pipeline/event/row.ts'
import { UnavailableError } from '../../run/errors.ts'
import { connectClickHouse, DATABASE } from '../../stores/clickhouse/client.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import type {
  BotAgents,
  Bucket,
  Change,
  EventReplacement,
  Group,
  Hiding,
  Portion,
  RowPlace,
  Run,
  Selection,
  Slice,
  Staged,
  StoredEvents,
} from './ports.ts'
import {
  AGENT_COLUMNS,
  agentsQuery,
  BUILDING,
  CHANGE_COLUMNS,
  CHANGES,
  CREATE_CHANGES,
  countFilteredQuery,
  createBuilding,
  groupsQuery,
  IS_OLD_STAGED,
  insertQuery,
  isInsertedQuery,
  LOG_HIDING,
  OTHER_COLUMNS,
  RUN,
  removeQuery,
  STAGED,
  STAGED_VISITS,
  selected,
  selectionParams,
  stageQuery,
  TABLE_OF,
  UPGRADE_STAGED,
} from './reenrich-sql.ts'

/** One statement may read all events of the selected days. */
const STATEMENT_MS = 3_600_000
const LOOK_EVERY_MS = 100
const PORTION_GROUPS = 5_000
const ASKED_ACCOUNTS = 10_000
const NOT_HIDDEN: Hiding = { rule: '', reason: '' }
/** A statement lists them, in 20 bytes each. */
const BOT_AGENTS_MAX = 100_000
const QUERY_BYTES_MAX = 67_108_864

/** Events of one removal. ClickHouse holds their keys in memory, 32 bytes each. */
const SLICE_EVENTS = 4_000_000

/** One thread and small blocks, so that a small embedded ClickHouse has enough memory. */
const GENTLE = {
  max_threads: 1,
  max_insert_threads: '1',
  max_execution_time: 0,
  max_block_size: '32768',
  min_insert_block_size_rows: '131072',
  min_insert_block_size_bytes: '67108864',
  max_partitions_per_insert_block: '0',
  max_bytes_before_external_group_by: '134217728',
  max_result_rows: '0',
  max_result_bytes: '0',
  async_insert: 0,
} as const

/** For statements that list accounts or user agents. */
const LONG = { max_query_size: String(QUERY_BYTES_MAX) } as const

/** How much work is done at a time. */
interface ReenrichmentSizes {
  /** Events of one removal. Default: 4 million. */
  readonly sliceEvents?: number
  /** Groups judged in one piece. Default: 5,000. */
  readonly portionGroups?: number
}

/** Visits that are hidden or removed, those that stay with other values, and those that are shown again. */
export interface StagedVisits {
  readonly filtered: number
  readonly kept: number
  readonly shown: number
}

const PLACES: readonly RowPlace[] = ['events', 'hidden']

/** Reenriches stored events by means of a copy in the same database. */
export class ClickHouseReenrichment implements StoredEvents, EventReplacement {
  readonly #client: ClickHouseClient
  readonly #sliceEvents: number
  readonly #portionGroups: number
  /** Columns of the unfinished copy. */
  #copied: readonly string[] = []

  /** @param url as `connectClickHouse` takes it */
  constructor(url: string, { sliceEvents = SLICE_EVENTS, portionGroups = PORTION_GROUPS }: ReenrichmentSizes = {}) {
    this.#sliceEvents = sliceEvents
    this.#portionGroups = portionGroups
    this.#client = connectClickHouse(url, {
      application: 'reenrich',
      database: DATABASE,
      requestTimeoutMs: STATEMENT_MS,
    })
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  async addresses(selection: Selection, hidden: Selection): Promise<number> {
    return (
      (await this.#selectedSum('uniq(ip)', selection, 'events')) +
      (await this.#selectedSum('uniq(ip)', hidden, 'hidden'))
    )
  }

  /** Number of events of the selection in a place. */
  count(selection: Selection, from: RowPlace): Promise<number> {
    return this.#selectedSum('count()', selection, from)
  }

  async #selectedSum(sum: string, selection: Selection, from: RowPlace): Promise<number> {
    const query = `SELECT ${sum} FROM ${TABLE_OF[from]} WHERE ${selected(selection, { from })}`
    return (await this.#rows<[number]>(query, selectionParams(selection)))[0]![0]
  }

  /** Rules that hide events, by tenant. */
  async hidingRules(): Promise<ReadonlyMap<string, readonly string[]>> {
    const query = `SELECT tenant_id, groupUniqArray(hidden_rule) FROM ${TABLE_OF.hidden} WHERE hidden_rule != '' GROUP BY tenant_id`
    return new Map(await this.#rows<[string, string[]]>(query))
  }

  async botAgents(selection: Selection, from: RowPlace): Promise<BotAgents> {
    const result = await this.#client.query({
      query: agentsQuery(selection, from),
      query_params: selectionParams(selection),
      format: 'JSONCompactEachRow',
      clickhouse_settings: GENTLE,
    })
    const found: string[] = []
    let isAll = false
    for await (const rows of result.stream<[string, string]>()) {
      for (const row of rows) {
        const [text, hash] = row.json<[string, string]>()
        if (!isBotText(text)) continue
        if (found.length < BOT_AGENTS_MAX) found.push(hash)
        else isAll = true
      }
    }
    return isAll ? 'all' : found
  }

  async *groups(selection: Selection, bucket: Bucket, from: RowPlace): AsyncGenerator<readonly Group[]> {
    const result = await this.#client.query({
      query: groupsQuery({ selection, bucket, from }),
      query_params: selectionParams(selection),
      format: 'JSONCompactEachRow',
      clickhouse_settings: { ...GENTLE, output_format_json_quote_64bit_integers: 0, ...LONG },
    })
    let portion: Group[] = []
    for await (const rows of result.stream<(string | number)[]>()) {
      for (const row of rows) {
        portion.push(groupOf(row.json<(string | number)[]>(), from))
        if (portion.length < this.#portionGroups) continue
        yield portion
        portion = []
      }
    }
    if (portion.length > 0) yield portion
  }

  async accountsAmong(tenantId: string, accountIds: readonly string[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    for (let from = 0; from < accountIds.length; from += ASKED_ACCOUNTS) {
      const ids = accountIds.slice(from, from + ASKED_ACCOUNTS).map(quote)
      const query = `
        SELECT DISTINCT account_id FROM events
        WHERE tenant_id = {tenant:String} AND account_id IN (${ids.join()})`
      for (const [id] of await this.#rows<[string]>(query, { tenant: tenantId })) found.add(id)
    }
    return found
  }

  async staged(): Promise<Staged | undefined> {
    if ((await this.#columns(STAGED)).length === 0) return undefined
    const query = `SELECT any(tenant_id), any(${RUN}), count() FROM ${STAGED}`
    const [row] = await this.#rows<[string, string, number]>(query)
    return { tenantId: row![0], run: row![1], events: row![2] }
  }

  async begin(): Promise<void> {
    await this.discard()
    this.#copied = await this.#columns('events')
    await this.#run(createBuilding(this.#copied))
    await this.#run(CREATE_CHANGES)
  }

  async stage(portion: Portion, { id: run, by }: Run, changes: readonly Change[]): Promise<void> {
    await this.#run(`TRUNCATE TABLE ${CHANGES} SETTINGS max_table_size_to_drop = 0`)
    const lines = changes.map(({ ip, was, to, hiding: { rule, reason } = NOT_HIDDEN, classification, values }) =>
      [tsv(ip), was, to, tsv(rule), tsv(reason), classification, ...values.map(tsv)].join('\t'),
    )
    await this.#client.insert({
      table: CHANGES,
      columns: [...CHANGE_COLUMNS],
      values: Readable.from([Buffer.from(`${lines.join('\n')}\n`)], { objectMode: false }),
      format: 'TabSeparated',
    })

    const query = stageQuery(this.#copied, portion)
    await this.#run(query, { ...selectionParams(portion.selection), run, by })
  }

  stagedSoFar(): Promise<number> {
    return this.#count(BUILDING)
  }

  async stagedVisits(): Promise<StagedVisits> {
    const [filtered, kept, shown] = (await this.#rows<[number, number, number]>(STAGED_VISITS))[0]!
    return { filtered, kept, shown }
  }

  async complete(): Promise<void> {
    await this.#run(`RENAME TABLE ${BUILDING} TO ${STAGED}`)
    await this.discard()
  }

  async discard(): Promise<void> {
    for (const table of [BUILDING, CHANGES]) await this.#drop(table)
  }

  async slices(): Promise<Slice[]> {
    if ((await this.#rows<[number]>(IS_OLD_STAGED))[0]![0]) await this.#run(UPGRADE_STAGED)
    const minutes = await this.#rows<[string, number, number]>(`
      SELECT any(tenant_id), toUnixTimestamp(toStartOfMinute(received_at)) * 1000 AS minute, count()
      FROM ${STAGED} GROUP BY minute ORDER BY minute`)
    const slices: (Slice & { events: number; toMs: number })[] = []
    for (const [tenantId, fromMs, events] of minutes) {
      const last = slices.at(-1)
      const toMs = fromMs + 60_000
      if (last === undefined || last.events + events > this.#sliceEvents)
        slices.push({ tenantId, fromMs, toMs, events })
      else Object.assign(last, { toMs, events: last.events + events })
    }
    return slices.map(({ tenantId, fromMs, toMs }) => ({ tenantId, fromMs, toMs }))
  }

  async remove(slice: Slice): Promise<void> {
    await this.#untilQuiet()
    for (const place of PLACES) await this.#run(removeQuery(slice, place), {}, { mutations_sync: '0' })
    await this.#untilQuiet()
  }

  async insert(slice: Slice): Promise<void> {
    const existing = new Set(await this.#columns('events'))
    const columns = (await this.#columns(STAGED)).filter((column) => existing.has(column))
    for (const place of PLACES) {
      // A new token, because `remove` deleted the rows of an earlier attempt.
      await this.#run(insertQuery(columns, slice, place), {}, { insert_deduplication_token: randomUUID() })
    }
  }

  async isInserted(slice: Slice): Promise<boolean> {
    return Boolean((await this.#rows<[number]>(isInsertedQuery(slice)))[0]![0])
  }

  async countFiltered(): Promise<void> {
    await this.#untilQuiet()
    for (const query of [countFilteredQuery(OUTCOME_STATUS.filtered), LOG_HIDING]) {
      await this.#run(query, {}, { insert_deduplication_token: randomUUID() })
    }
  }

  drop(): Promise<void> {
    return this.#drop(STAGED)
  }

  /** Statements of a killed attempt may still run on the server. Waits for their end, so that they do not interfere. */
  async #untilQuiet(): Promise<void> {
    for (;;) {
      const tables = `table IN (${Object.values(TABLE_OF).map(quote).join()})`
      const [found] = await this.#rows<[number, [id: string, table: string, failure: string][]]>(`
        SELECT
          (SELECT count() FROM system.processes WHERE query_kind = 'Insert' AND position(query, '${STAGED}') > 0),
          groupArray((mutation_id, table, latest_fail_reason))
        FROM system.mutations
        WHERE database = currentDatabase() AND ${tables} AND NOT is_done AND position(command, '${STAGED}') > 0`)
      const [inserts, removals] = found!
      const failed = removals.find(([, , failure]) => failure !== '')
      // ClickHouse would retry a failing mutation for ever, and block the ones after it.
      if (failed !== undefined) {
        const [id, table] = failed
        const which = `database = currentDatabase() AND table = ${quote(table)} AND mutation_id = ${quote(id)}`
        await this.#run(`KILL MUTATION WHERE ${which}`)
        throw new UnavailableError(`ClickHouse cannot remove events: ${failed[2]}; run the command again to finish it`)
      }
      if (removals.length === 0 && inserts === 0) return
      await sleep(LOOK_EVERY_MS)
    }
  }

  /** Columns for inserts, in order; empty when the table does not exist. */
  async #columns(table: string): Promise<string[]> {
    const rows = await this.#rows<[string]>(
      `SELECT name FROM system.columns
      WHERE database = currentDatabase() AND table = {table:String} AND default_kind IN ('', 'DEFAULT')
        AND name NOT IN (${OTHER_COLUMNS.map(quote).join()})
      ORDER BY position`,
      { table },
    )
    return rows.map(([name]) => name)
  }

  async #count(table: string): Promise<number> {
    return (await this.#rows<[number]>(`SELECT count() FROM ${table}`))[0]![0]
  }

  #drop(table: string): Promise<void> {
    return this.#run(`DROP TABLE IF EXISTS ${table} SYNC SETTINGS max_table_size_to_drop = 0`)
  }

  async #run(
    query: string,
    params: Record<string, unknown> = {},
    settings: Record<string, string> = {},
  ): Promise<void> {
    await this.#client.command({
      query,
      query_params: params,
      clickhouse_settings: { ...GENTLE, ...LONG, ...settings },
    })
  }

  async #rows<T>(query: string, params: Record<string, unknown> = {}): Promise<T[]> {
    const result = await this.#client.query({
      query,
      query_params: params,
      format: 'JSONCompactEachRow',
      clickhouse_settings: {
        ...GENTLE,
        output_format_json_quote_64bit_integers: 0,
        ...LONG,
      },
    })
    return await result.json<T>()
  }
}

/** @param text as in JSON */
function isBotText(text: string): boolean {
  try {
    return botOf(JSON.parse(`"${text}"`) as string) !== undefined
  } catch {
    // The event is no JSON either.
    return false
  }
}

function groupOf([ip, accountId, was, ...rest]: (string | number)[], from: RowPlace): Group {
  const events = Number(rest.pop())
  const texts = rest.map(String)
  const [rule, reason] = from === 'hidden' ? texts.splice(-2) : []
  const hiding = reason === undefined ? undefined : { rule: rule!, reason: reason as Hiding['reason'] }
  const agents = texts.splice(-AGENT_COLUMNS.length)
  return { ip: String(ip), accountId: String(accountId), was: String(was), hiding, values: texts, agents, events }
}
