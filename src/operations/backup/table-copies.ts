import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Logger } from 'pino'
import type { BackupFigures } from '../../../schemas/backup.ts'
import { StartupError } from '../../run/errors.ts'
import { connectClickHouse, DATABASE } from '../../stores/clickhouse/client.ts'
import { BY_MAJORITY } from '../../stores/clickhouse/cluster.ts'
import { localOf, SHARDED } from '../../stores/clickhouse/cluster-form.ts'
import { missingTable } from '../../stores/clickhouse/failures.ts'
import {
  assertNamed,
  type ClickHousePlace,
  HostConnections,
  type Hosts,
  onEach,
} from '../../stores/clickhouse/hosts.ts'
import { appliedMigrations, MIGRATIONS, migrate } from '../../stores/clickhouse/migrate.ts'
import { quote, quoteName } from '../../stores/clickhouse/quote.ts'
import { ERASING } from '../../stores/clickhouse/remove-rows.ts'
import { readMigrations } from '../../stores/clickhouse/schema.ts'
import { DAY_TABLES, EVENTS as EVENTS_TABLE, HIDDEN, OUR_TABLES, OUTCOMES } from '../../stores/clickhouse/tables.ts'
import { DISTINCT_MASK, type EventFigures } from './figures.ts'
import { BackupRefusedError, type StoredEvent, type TableShape, type TableSource, type TableTarget } from './ports.ts'
import { createRestored } from './restored-table.ts'

const EVENTS = EVENTS_TABLE.name

/** Stored events, hidden ones too: repeats of both are repeats. */
const KEPT_EVENTS = `(
  SELECT tenant_id, event_id, received_at FROM ${EVENTS}
  UNION ALL SELECT tenant_id, event_id, received_at FROM ${HIDDEN}
)`

/** Makes the text of a value independent of the server's settings and time zone. */
const EXACT_TEXT = {
  session_timezone: 'UTC',
  date_time_output_format: 'simple',
  format_tsv_null_representation: '\\N',
  output_format_tsv_crlf_end_of_line: 0,
  bool_true_representation: 'true',
  bool_false_representation: 'false',
} as const

/** One core, so that a backup does not slow down queries. */
const ALL_ROWS = { ...EXACT_TEXT, max_threads: 1, max_result_bytes: '0', max_result_rows: '0' } as const

/** A portion may span any number of months. */
const AS_STORED = {
  ...EXACT_TEXT,
  async_insert: 0,
  max_partitions_per_insert_block: '0',
  input_format_parallel_parsing: 0,
} as const

/** A server may be silent while it makes room for a large insert, or merges. */
/** Tables that are in no backup; days are built again from events. */
const LEFT_OUT = [MIGRATIONS, ERASING, ...DAY_TABLES, ...DAY_TABLES.map(localOf)]
const STATEMENT_MS = 600_000
const PORTION_EVENTS = 20_000
const QUERY_BYTES_MAX = 67_108_864

/** Names of a re-enrichment's own tables: their rows belong to the events of one host. */
const REENRICHMENT_TABLE = /^reenrich_/

/** A table on a host, with rows that no other place has. */
interface RowPlace {
  readonly client: ClickHouseClient
  readonly name: string
}

/** A table, and the path of its replicas; `''`: only its host has its rows. */
interface FoundTable extends TableShape {
  readonly replicas: string
}

/** A table by its public name, and where its rows are. */
interface PlacedTable {
  readonly shape: TableShape
  readonly places: RowPlace[]
}

/**
 * Reads and fills the tables of the database `ipid`. Rows are TabSeparated, as the sink writes them. On a cluster it reads and fills each
 * shard, and a backup has the same tables as that of one server. A table of the user's own is restored to the first shard.
 */
export class ClickHouseTables implements TableSource, TableTarget {
  readonly #connections: HostConnections
  readonly #place: ClickHousePlace
  readonly #log: Logger
  /** Insert by insert, the shards take turns. */
  #inserts = 0

  /** @param place the database need not exist yet */
  constructor(place: ClickHousePlace | string, log: Logger) {
    this.#place = typeof place === 'string' ? { url: place } : place
    this.#connections = new HostConnections(place, { application: 'backup', requestTimeoutMs: STATEMENT_MS })
    this.#log = log
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  async migrations(): Promise<string[]> {
    return [...(await appliedMigrations(this.#front, this.#place.cluster))].sort()
  }

  /** Whether ClickHouse has every migration of this version. The start of a sink applies them. */
  async areMigrated(): Promise<boolean> {
    try {
      const applied = new Set(await this.migrations())
      return (await readMigrations()).every(({ name }) => applied.has(name))
    } catch (error) {
      if (missingTable(error) === undefined) throw error
      return false
    }
  }

  async tables(): Promise<TableShape[]> {
    return (await this.#placed(await this.#connections.find())).map(({ shape }) => shape)
  }

  async #placed(hosts: Hosts): Promise<PlacedTable[]> {
    const placed = new Map<string, PlacedTable>()
    const read = new Set<string>()
    const publicNames = new Map([...SHARDED].map((table) => [hosts.holder(table), table]))
    const found = await onEach(hosts.all, async ({ client }) => ({ client, tables: await this.#tablesOn(client) }))
    for (const { client, tables } of found) {
      for (const { table: name, replicas, ...rest } of tables) {
        const shape = { ...rest, table: publicNames.get(name) ?? name }
        const known = placed.get(shape.table) ?? { shape, places: [] }
        placed.set(shape.table, known)
        assertAlike(shape, known.shape)
        // Each host has a full copy of the tables of a few rows.
        const isCopy = read.has(replicas) || (OUR_TABLES.has(name) && known.places.length > 0)
        if (!isCopy) known.places.push({ client, name })
        if (replicas !== '') read.add(replicas)
      }
    }
    const names = [...placed.keys()]
    if (hosts.isCluster && names.some((name) => REENRICHMENT_TABLE.test(name))) throw unfinished()
    const order = [EVENTS, ...names.filter((name) => name !== EVENTS).sort()]
    return order.flatMap((name) => placed.get(name) ?? [])
  }

  async #tablesOn(client: ClickHouseClient): Promise<FoundTable[]> {
    const found = await this.#rows<[string, string[], string, string]>(
      `
      SELECT t.name, c.columns, t.create_table_query, r.zookeeper_path
      FROM system.tables AS t
      INNER JOIN
      (
        SELECT table, arrayMap(c -> c.2, arraySort(groupArray((position, name)))) AS columns
        FROM system.columns
        WHERE database = currentDatabase() AND default_kind IN ('', 'DEFAULT')
        GROUP BY table
      ) AS c ON c.table = t.name
      LEFT JOIN (SELECT table, zookeeper_path FROM system.replicas WHERE database = currentDatabase()) AS r ON r.table = t.name
      WHERE t.database = currentDatabase() AND t.has_own_data AND NOT t.is_temporary AND t.engine != 'Distributed'
        AND t.name NOT IN (${LEFT_OUT.map(quote).join()})`,
      {},
      {},
      client,
    )
    return found.map(([table, columns, create, replicas]) => ({ table, columns, create, replicas }))
  }

  /** Where the rows of a table are; empty when there is no table. */
  async #placesOf(table: string): Promise<RowPlace[]> {
    const placed = await this.#placed(await this.#connections.found())
    return placed.find(({ shape }) => shape.table === table)?.places ?? []
  }

  async *rows({ table, columns }: TableShape): AsyncGenerator<Buffer> {
    for (const { client, name } of await this.#placesOf(table)) yield* this.#rowsOn(client, name, columns)
  }

  async *#rowsOn(client: ClickHouseClient, table: string, columns: readonly string[]): AsyncGenerator<Buffer> {
    const query = `SELECT ${columns.map(quoteName).join()} FROM ${quoteName(table)} FORMAT TabSeparated`
    const { stream } = await client.exec({ query, clickhouse_settings: ALL_ROWS })
    let tail = Buffer.alloc(0)
    for await (const piece of stream as AsyncIterable<Buffer>) {
      yield piece
      tail = Buffer.concat([tail, piece.subarray(-2)]).subarray(-2)
    }
    // A server that fails midway appends a text that contains a CR. A row never does: TabSeparated writes it as \r.
    const isWhole = tail.length === 0 || (tail.at(-1) === 10 && tail.at(0) !== 13)
    if (!isWhole) throw new Error(`ClickHouse did not send all rows of table ${table}`)
  }

  async filledTable(): Promise<string | undefined> {
    if (!(await this.#hasDatabase())) return undefined
    for (const { shape, places } of await this.#placed(await this.#connections.find())) {
      if ((await this.#count(places)) > 0) return shape.table
    }
    return undefined
  }

  async assertKnown(names: readonly string[], version: string): Promise<void> {
    const known = (await readMigrations()).map(({ name }) => name)
    const unknown = names.find((name) => !known.includes(name))
    if (unknown === undefined) return
    throw new BackupRefusedError(
      `the backup comes from a newer ipid (${version}): this version does not know its migration ${unknown}; restore it with ipid ${version}`,
    )
  }

  migrate(only?: readonly string[]): Promise<void> {
    return migrate(this.#place.url, this.#log, { only, cluster: this.#place.cluster })
  }

  async assertTables(shapes: readonly TableShape[]): Promise<void> {
    const { cluster, hosts } = this.#place
    if (cluster !== undefined) {
      assertNamed(cluster, hosts)
      if (shapes.some(({ table }) => REENRICHMENT_TABLE.test(table)))
        throw new BackupRefusedError(
          'the backup has events of a re-enrichment that did not finish: restore it on one server',
        )
    }
    const existing = (await this.#hasDatabase()) ? (await this.tables()).map(({ table }) => table) : []
    for (const shape of shapes) {
      if (!OUR_TABLES.has(shape.table) && !existing.includes(shape.table)) createOf(shape)
    }
  }

  async clear(shape: TableShape): Promise<void> {
    const { writers } = await this.#connections.found()
    const places = await this.#placesOf(shape.table)
    if (places.length === 0) await writers[0]!.client.command({ query: createOf(shape) })
    await onEach(places, async ({ client, name }) => {
      await client.command({ query: `TRUNCATE TABLE ${quoteName(name)} SETTINGS max_table_size_to_drop = 0` })
    })
  }

  async insert({ table, columns }: TableShape, lines: readonly Buffer[]): Promise<void> {
    const hosts = await this.#connections.found()
    const places = await this.#placesOf(table)
    const { client, name } = places[SHARDED.has(table) ? this.#inserts++ % places.length : 0]!
    await client.insert({
      table: quoteName(name),
      columns: columns.map(quoteName) as [string, ...string[]],
      values: Readable.from(lines, { objectMode: false }),
      format: 'TabSeparated',
      clickhouse_settings: {
        ...AS_STORED,
        ...(hosts.hasReplicas && BY_MAJORITY),
        // Two portions may be equal. ClickHouse 26.7 would drop the second even with `insert_deduplicate = 0`.
        insert_deduplication_token: randomUUID(),
      },
    })
  }

  async count({ table }: TableShape): Promise<number | undefined> {
    const places = await this.#placesOf(table)
    const [first] = places
    if (first === undefined) return undefined
    const engine = `SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = {table:String}`
    const [found] = await this.#rows<[string]>(engine, { table: first.name }, {}, first.client)
    return /^(?:Replicated)?MergeTree$/.test(found?.[0] ?? '') ? await this.#count(places) : undefined
  }

  /** Queries the figures of the tables. @param shape of the restored events */
  async figures({ columns }: TableShape): Promise<Pick<BackupFigures, 'events' | 'outcomes'>> {
    // The text of a field or row with its line feed, as the backup has it.
    const crc = (...names: readonly string[]) => `CRC32(formatRow('TabSeparated', ${names.map(quoteName).join()}))`
    const distinct = (name: string) => `toUInt64(groupBitmap(bitAnd(${crc(name)}, ${DISTINCT_MASK})))`
    const time = (name: string) => `if(count() = 0, '', toString(${name}(received_at)))`
    const query = `
      SELECT count() AS rows, ${distinct('event_id')} AS ids, ${distinct('company_id')} AS companies,
        ${distinct('tenant_id')} AS tenants, countIf(job_id != '') AS of_jobs,
        ${time('min')} AS first_received, ${time('max')} AS last_received, toUInt64(groupBitXor(${crc(...columns)})) AS checksum
      FROM ${EVENTS}`
    const result = await this.#front.query({
      query,
      format: 'JSONEachRow',
      clickhouse_settings: { ...EXACT_TEXT, output_format_json_quote_64bit_integers: 0 },
    })
    const [events] = await result.json<EventFigures>()
    const [sum] = await this.#rows<[number]>(`SELECT toUInt64(sum(events)) FROM ${OUTCOMES.name}`)
    if (events === undefined || sum === undefined) throw new Error('ClickHouse sent an empty answer')
    return { events, outcomes: sum[0] }
  }

  async *eventsSince(ms: number): AsyncGenerator<StoredEvent[]> {
    await this.#connections.synchronised()
    const result = await this.#front.query({
      query: `
        SELECT tenant_id, event_id, toUnixTimestamp64Milli(received_at) FROM ${KEPT_EVENTS}
        WHERE received_at >= fromUnixTimestamp64Milli({from:Int64})`,
      query_params: { from: Math.floor(ms) },
      format: 'JSONCompactEachRow',
      clickhouse_settings: { ...ALL_ROWS, output_format_json_quote_64bit_integers: 0 },
    })
    let portion: StoredEvent[] = []
    for await (const rows of result.stream<[string, string, number]>()) {
      for (const row of rows) {
        const [tenantId, eventId, receivedAtMs] = row.json<[string, string, number]>()
        portion.push({ tenantId, eventId, receivedAtMs })
        if (portion.length < PORTION_EVENTS) continue
        yield portion
        portion = []
      }
    }
    if (portion.length > 0) yield portion
  }

  async storedAmong(events: readonly Pick<StoredEvent, 'tenantId' | 'eventId'>[]): Promise<ReadonlySet<number>> {
    const stored = new Set<number>()
    if (events.length === 0) return stored
    const pairs = events.map(({ tenantId, eventId }) => `(${quote(tenantId)},${quote(eventId)})`).join()
    const query = `SELECT DISTINCT tenant_id, event_id FROM ${KEPT_EVENTS} WHERE (tenant_id, event_id) IN (${pairs})`
    const found = await this.#rows<[string, string]>(query, {}, { max_query_size: String(QUERY_BYTES_MAX) })
    const names = new Set(found.map((pair) => JSON.stringify(pair)))
    for (const [at, { tenantId, eventId }] of events.entries()) {
      if (names.has(JSON.stringify([tenantId, eventId]))) stored.add(at)
    }
    return stored
  }

  async #hasDatabase(): Promise<boolean> {
    const client = connectClickHouse(this.#place.url, { application: 'backup', connectionsMax: 1 })
    try {
      const query = `SELECT count() FROM system.databases WHERE name = '${DATABASE}'`
      const result = await client.query({ query, format: 'JSONCompactEachRow' })
      return Number((await result.json<[string | number]>())[0]?.[0]) > 0
    } finally {
      await client.close()
    }
  }

  async #count(places: readonly RowPlace[]): Promise<number> {
    const counts = await onEach(places, async ({ client, name }) => {
      const [row] = await this.#rows<[number]>(`SELECT count() FROM ${quoteName(name)}`, {}, {}, client)
      return row?.[0] ?? 0
    })
    return counts.reduce((sum, count) => sum + count, 0)
  }

  get #front(): ClickHouseClient {
    return this.#connections.front
  }

  async #rows<T>(
    query: string,
    params: Record<string, unknown> = {},
    settings: Record<string, string> = {},
    client = this.#front,
  ): Promise<T[]> {
    const result = await client.query({
      query,
      query_params: params,
      format: 'JSONCompactEachRow',
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0, ...settings },
    })
    return await result.json<T>()
  }
}

/** @throws StartupError when the rows of two hosts would not fit into one table */
function assertAlike(shape: TableShape, other: TableShape): void {
  if (isDeepStrictEqual(shape.columns, other.columns)) return
  throw new StartupError(
    `the table ${shape.table} has other columns on another host of the cluster: rename it on one of them`,
  )
}

function unfinished(): StartupError {
  return new StartupError('a re-enrichment did not finish: run ./ipid replay with --reenrich again, then repeat this')
}

/** @throws BackupRefusedError when the table belongs to ipid, or its statement is not allowed */
function createOf(shape: TableShape): string {
  const { table } = shape
  const refused = (why: string) => new BackupRefusedError(`cannot create table ${table} of the backup: ${why}`)
  if (OUR_TABLES.has(table)) throw refused('it belongs to ipid, but the migrations of the backup do not create it')
  if (table === MIGRATIONS || table === ERASING) throw refused('ipid uses this name itself')
  try {
    return createRestored(shape)
  } catch (error) {
    throw refused(
      `${(error as Error).message}: a restore does not run that; create the table yourself, leave it empty, and restore again`,
    )
  }
}
