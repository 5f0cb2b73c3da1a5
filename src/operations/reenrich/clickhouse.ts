import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { botOf } from '../../enrichment/bots/user-agent.ts'
import { tsv } from '../../pipeline/event/row.ts'
import { UnavailableError } from '../../run/errors.ts'
import { BY_MAJORITY } from '../../stores/clickhouse/cluster.ts'
import { type ClickHousePlace, type Host, HostConnections, onEach } from '../../stores/clickhouse/hosts.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { lastMutation } from '../../stores/clickhouse/remove-rows.ts'
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
  countFilteredQuery,
  createChanges,
  createCopy,
  groupsQuery,
  IS_OLD_STAGED,
  insertQuery,
  isInsertedQuery,
  logHidingQuery,
  OTHER_COLUMNS,
  RUN,
  removeQuery,
  STAGED,
  selected,
  selectionParams,
  stagedVisitsQuery,
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

/**
 * Reenriches stored events by means of a copy in the same database. On a cluster each host copies and replaces its own events, so these stay
 * in their shard. Replicas copy for themselves too, because each one runs the removals with its own copy.
 */
export class ClickHouseReenrichment implements StoredEvents, EventReplacement {
  readonly #connections: HostConnections
  readonly #sliceEvents: number
  readonly #portionGroups: number
  /** Columns of the unfinished copy. */
  #copied: readonly string[] = []

  constructor(
    place: ClickHousePlace | string,
    { sliceEvents = SLICE_EVENTS, portionGroups = PORTION_GROUPS }: ReenrichmentSizes = {},
  ) {
    this.#sliceEvents = sliceEvents
    this.#portionGroups = portionGroups
    this.#connections = new HostConnections(place, { application: 'reenrich', requestTimeoutMs: STATEMENT_MS })
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  get #front(): ClickHouseClient {
    return this.#connections.front
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
    const result = await this.#front.query({
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
    const result = await this.#front.query({
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
    const hosts = await this.#connections.find()
    const copies = await onEach(hosts.all, ({ client }) => this.#hasCopy(client))
    if (copies.includes(false)) {
      // `drop` begins when all events are replaced. It was cut off where only some hosts have a copy.
      if (copies.includes(true)) await this.drop()
      return undefined
    }
    const found = (await onEach(hosts.shards, (shard) => this.#stagedIn(shard))).flatMap((copy) => copy ?? [])
    const [first] = found
    return first && { ...first, events: found.reduce((sum, { events }) => sum + events, 0) }
  }

  async #hasCopy(client: ClickHouseClient): Promise<boolean> {
    for (const table of [STAGED, BUILDING]) if ((await this.#columns(table, client)).length > 0) return true
    return false
  }

  /** The copy of a shard, which each of its hosts has. Undefined when it is empty: a run may change no event of a shard. */
  async #stagedIn(shard: readonly Host[]): Promise<Staged | undefined> {
    for (const { client } of shard) {
      if ((await this.#columns(STAGED, client)).length === 0) continue
      const query = `SELECT any(tenant_id), any(${RUN}), count() FROM ${STAGED}`
      const [row] = await this.#rows<[string, string, number]>(query, {}, client)
      const [tenantId, run, events] = row!
      if (events > 0) return { tenantId, run, events }
    }
    return undefined
  }

  async begin(): Promise<void> {
    const hosts = await this.#connections.found()
    await this.discard()
    // A copy without rows counts as none, and its name must be free.
    await this.drop()
    this.#copied = await this.#columns('events')
    await onEach(hosts.all, async ({ client }) => {
      await this.#run(client, createCopy(BUILDING, this.#copied, hosts.holder))
      await this.#run(client, createChanges(hosts.holder))
    })
  }

  async stage(portion: Portion, { id: run, by }: Run, changes: readonly Change[]): Promise<void> {
    const hosts = await this.#connections.found()
    const lines = changes.map(({ ip, was, to, hiding: { rule, reason } = NOT_HIDDEN, classification, values }) =>
      [tsv(ip), was, to, tsv(rule), tsv(reason), classification, ...values.map(tsv)].join('\t'),
    )
    const text = Buffer.from(`${lines.join('\n')}\n`)
    const query = stageQuery(this.#copied, portion, hosts.holder)
    await onEach(hosts.all, async ({ client }) => {
      await this.#run(client, `TRUNCATE TABLE ${CHANGES} SETTINGS max_table_size_to_drop = 0`)
      await client.insert({
        table: CHANGES,
        columns: [...CHANGE_COLUMNS],
        values: Readable.from([text], { objectMode: false }),
        format: 'TabSeparated',
      })
      await this.#run(client, query, { ...selectionParams(portion.selection), run, by })
    })
  }

  /** NaN when replicas of a shard differ: one stored events meanwhile. */
  async stagedSoFar(): Promise<number> {
    const { shards } = await this.#connections.found()
    const counts = await onEach(shards, async (shard) => {
      const [first, ...others] = await onEach(shard, ({ client }) => this.#count(client, BUILDING))
      return others.every((count) => count === first) ? first! : Number.NaN
    })
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async stagedVisits(): Promise<StagedVisits> {
    const hosts = await this.#connections.found()
    const query = stagedVisitsQuery(hosts.everywhere(BUILDING))
    const [filtered, kept, shown] = (await this.#rows<[number, number, number]>(query))[0]!
    return { filtered, kept, shown }
  }

  async complete(): Promise<void> {
    const { all } = await this.#connections.found()
    await onEach(all, ({ client }) => this.#run(client, `RENAME TABLE ${BUILDING} TO ${STAGED}`))
    await this.discard()
  }

  async discard(): Promise<void> {
    for (const table of [BUILDING, CHANGES]) await this.#drop(table)
  }

  async slices(): Promise<Slice[]> {
    const hosts = await this.#connections.found()
    await onEach(hosts.all, ({ client }) => this.#completeOn(client))
    const minutes = await this.#rows<[string, number, number]>(`
      SELECT any(tenant_id), toUnixTimestamp(toStartOfMinute(received_at)) * 1000 AS minute, count()
      FROM ${hosts.everywhere(STAGED)} GROUP BY minute ORDER BY minute`)
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

  /**
   * Gives a host its complete copy. The copies of all hosts were whole before the first was renamed, so one that still has its old name is whole
   * too.
   */
  async #completeOn(client: ClickHouseClient): Promise<void> {
    if ((await this.#columns(STAGED, client)).length === 0) {
      await this.#run(client, `RENAME TABLE ${BUILDING} TO ${STAGED}`)
    }
    if ((await this.#rows<[number]>(IS_OLD_STAGED, {}, client))[0]![0]) await this.#run(client, UPGRADE_STAGED)
  }

  async remove(slice: Slice): Promise<void> {
    const hosts = await this.#connections.found()
    await this.#untilQuiet()
    await onEach(hosts.writers, async ({ client }) => {
      for (const place of PLACES) {
        const query = removeQuery(slice, place, hosts.holder)
        await this.#run(client, query, {}, { mutations_sync: '0', allow_nondeterministic_mutations: 1 })
      }
    })
    await this.#untilQuiet()
  }

  async insert(slice: Slice): Promise<void> {
    const hosts = await this.#connections.found()
    const existing = new Set(await this.#columns('events'))
    await onEach(hosts.shards, async ([{ client }, ...replicas]) => {
      const columns = (await this.#columns(STAGED, client)).filter((column) => existing.has(column))
      for (const place of PLACES) {
        const query = insertQuery(columns, slice, place, hosts.holder)
        // A new token, because `remove` deleted the rows of an earlier attempt.
        const settings = { insert_deduplication_token: randomUUID(), ...(replicas.length > 0 && BY_MAJORITY) }
        await this.#run(client, query, {}, settings)
      }
    })
  }

  async isInserted(slice: Slice): Promise<boolean> {
    const hosts = await this.#connections.found()
    const query = isInsertedQuery(slice, hosts.holder)
    const found = await onEach(hosts.writers, ({ client }) => this.#rows<[number]>(query, {}, client))
    return found.every(([row]) => Boolean(row![0]))
  }

  async countFiltered(): Promise<void> {
    const hosts = await this.#connections.found()
    await this.#untilQuiet()
    const token = () => ({ insert_deduplication_token: randomUUID() })
    const count = countFilteredQuery(OUTCOME_STATUS.filtered, hosts.holder)
    await onEach(hosts.writers, ({ client }) => this.#run(client, count, {}, token()))
    await this.#run(hosts.writers[0]!.client, logHidingQuery(hosts.everywhere(STAGED)), {}, token())
  }

  drop(): Promise<void> {
    return this.#drop(STAGED)
  }

  /** Statements of a killed attempt may still run on a host. Waits for their end, so that they do not interfere. */
  async #untilQuiet(): Promise<void> {
    const hosts = await this.#connections.found()
    const tables = Object.values(TABLE_OF).map(hosts.holder)
    await onEach(hosts.shards, async ([{ client }, ...replicas]) => {
      await this.#untilQuietOn(client, tables)
      for (const replica of replicas) {
        for (const table of tables) {
          const last = async (on: ClickHouseClient) => (await this.#rows<[string]>(lastMutation(table), {}, on))[0]![0]
          const known = await last(client)
          // A replica learns of a mutation a moment later.
          while ((await last(replica.client)) < known) await sleep(LOOK_EVERY_MS)
        }
        await this.#untilQuietOn(replica.client, tables)
      }
    })
  }

  async #untilQuietOn(client: ClickHouseClient, tables: readonly string[]): Promise<void> {
    for (;;) {
      const [found] = await this.#rows<[number, [id: string, table: string, failure: string][]]>(
        `SELECT
          (SELECT count() FROM system.processes WHERE query_kind = 'Insert' AND position(query, '${STAGED}') > 0),
          groupArray((mutation_id, table, latest_fail_reason))
        FROM system.mutations
        WHERE database = currentDatabase() AND table IN (${tables.map(quote).join()})
          AND NOT is_done AND position(command, '${STAGED}') > 0`,
        {},
        client,
      )
      const [inserts, removals] = found!
      const failed = removals.find(([, , failure]) => failure !== '')
      // ClickHouse would retry a failing mutation for ever, and block the ones after it.
      if (failed !== undefined) {
        const [id, table] = failed
        const which = `database = currentDatabase() AND table = ${quote(table)} AND mutation_id = ${quote(id)}`
        await this.#run(client, `KILL MUTATION WHERE ${which}`)
        throw new UnavailableError(`ClickHouse cannot remove events: ${failed[2]}; run the command again to finish it`)
      }
      if (removals.length === 0 && inserts === 0) return
      await sleep(LOOK_EVERY_MS)
    }
  }

  /** Columns for inserts, in order; empty when the table does not exist. */
  async #columns(table: string, client = this.#front): Promise<string[]> {
    const rows = await this.#rows<[string]>(
      `SELECT name FROM system.columns
      WHERE database = currentDatabase() AND table = {table:String} AND default_kind IN ('', 'DEFAULT')
        AND name NOT IN (${OTHER_COLUMNS.map(quote).join()})
      ORDER BY position`,
      { table },
      client,
    )
    return rows.map(([name]) => name)
  }

  async #count(client: ClickHouseClient, table: string): Promise<number> {
    return (await this.#rows<[number]>(`SELECT count() FROM ${table}`, {}, client))[0]![0]
  }

  async #drop(table: string): Promise<void> {
    const { all } = await this.#connections.found()
    const query = `DROP TABLE IF EXISTS ${table} SYNC SETTINGS max_table_size_to_drop = 0`
    await onEach(all, ({ client }) => this.#run(client, query))
  }

  async #run(
    client: ClickHouseClient,
    query: string,
    params: Record<string, unknown> = {},
    settings: ClickHouseSettings = {},
  ): Promise<void> {
    await client.command({
      query,
      query_params: params,
      clickhouse_settings: { ...GENTLE, ...LONG, ...settings },
    })
  }

  async #rows<T>(query: string, params: Record<string, unknown> = {}, client = this.#front): Promise<T[]> {
    const result = await client.query({
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
