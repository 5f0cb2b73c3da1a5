import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { DATABASE } from '../../stores/clickhouse/client.ts'
import { ALL_REPLICAS_MUST_ANSWER } from '../../stores/clickhouse/cluster.ts'
import { everyReplica, everyShard, localOf, onCluster } from '../../stores/clickhouse/cluster-form.ts'
import { type ClickHousePlace, HostConnections, onEach } from '../../stores/clickhouse/hosts.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { HIDDEN } from '../../stores/clickhouse/tables.ts'
import { commonFloor, type RetentionPolicy, retentionFloor } from './policy.ts'
import type { AgedStore } from './ports.ts'

/** Tables with a day of receipt per row, partitioned by its month. */
const TABLES = [
  { name: 'events', day: 'toDate32(received_at)' },
  { name: HIDDEN, day: 'toDate32(received_at)' },
  { name: 'outcomes', day: 'day' },
] as const

type Table = (typeof TABLES)[number]

const TENANTS_A_STATEMENT = 1_000
const STATEMENT_MS = 600_000

/**
 * The tables, for retention. Drops whole months that no tenant keeps. ClickHouse removes other rows in the background,
 * including their sums in projections.
 */
export class ClickHouseAgedTables implements AgedStore {
  readonly name = 'tables'
  readonly #place: ClickHousePlace

  constructor(place: ClickHousePlace) {
    this.#place = place
  }

  async removeAged(policy: RetentionPolicy, nowMs: number): Promise<number> {
    const { cluster, hosts } = this.#place
    const names = tableNamesOf(cluster, hosts !== undefined)
    const options = { requestTimeoutMs: STATEMENT_MS, connectionsMax: 1, settings: names.settings }
    const connections = new HostConnections(this.#place, { application: 'retention', ...options })
    try {
      const { front } = connections
      const altering = cluster === undefined || hosts === undefined ? [front] : await writersOf(connections)
      let rows = 0
      for (const table of TABLES) rows += await removeFrom({ front, altering, names, table }, policy, nowMs)
      return rows
    } finally {
      await connections.close()
    }
  }

  async close(): Promise<void> {}
}

async function writersOf(connections: HostConnections): Promise<ClickHouseClient[]> {
  return (await connections.find()).writers.map(({ client }) => client)
}

/** A table, and how to reach it. */
interface AgedTable {
  /** Reads all rows. */
  readonly front: ClickHouseClient
  /** Each gets every ALTER. */
  readonly altering: readonly ClickHouseClient[]
  readonly names: TableNames
  readonly table: Table
}

/** Names of the objects that hold a table's rows, parts and mutations. */
interface TableNames {
  /** The table that holds the rows. */
  holder(table: string): string
  /** The table of an ALTER. */
  altered(table: string): string
  readonly parts: string
  readonly mutations: string
  /** Conditions per statement. */
  readonly conditionsMax: number
  readonly settings: ClickHouseSettings
}

/** @param isByHost whether an ALTER goes to each shard by itself, and not ON CLUSTER */
function tableNamesOf(cluster: string | undefined, isByHost: boolean): TableNames {
  if (cluster === undefined) {
    return {
      holder: (table) => table,
      altered: (table) => table,
      parts: 'system.parts',
      mutations: 'system.mutations',
      conditionsMax: Number.POSITIVE_INFINITY,
      settings: {},
    }
  }
  return {
    holder: localOf,
    altered: (table) => (isByHost ? localOf(table) : `${DATABASE}.${localOf(table)} ${onCluster(cluster)}`),
    parts: everyShard(cluster, 'system.parts'),
    mutations: everyReplica(cluster, 'system.mutations'),
    // A statement for replicas goes through Keeper, which accepts a megabyte at a time.
    conditionsMax: 1,
    settings: ALL_REPLICAS_MUST_ANSWER,
  }
}

async function removeFrom(aged: AgedTable, policy: RetentionPolicy, nowMs: number): Promise<number> {
  const { front, names, table } = aged
  // Does not repeat mutations that are still running.
  if ((await select(front, openMutations(names, table))).length > 0) return 0
  const dueOf = async () => {
    const oldest = await select<[string, string]>(
      front,
      `SELECT tenant_id, toString(min(${table.day})) FROM ${table.name} GROUP BY tenant_id`,
    )
    return oldest.filter(([tenant, day]) => day < (retentionFloor(policy, tenant, nowMs) ?? ''))
  }
  if ((await dueOf()).length === 0) return 0
  const dropped = await dropMonths(aged, commonFloor(policy, nowMs))
  const tenants = (await dueOf()).map(([tenant]) => tenant)
  return dropped + (await removeRows(aged, byFloor(tenants, policy, nowMs)))
}

function openMutations({ mutations, holder }: TableNames, { name }: Table): string {
  return `
    SELECT mutation_id FROM ${mutations}
    WHERE database = '${DATABASE}' AND table = '${holder(name)}' AND NOT is_done AND command LIKE '%DELETE WHERE%'`
}

/** Drops months that no tenant keeps, even of tenants with rows added meanwhile. */
async function dropMonths(aged: AgedTable, floor: string | undefined): Promise<number> {
  if (floor === undefined) return 0
  const { front, altering, table, names } = aged
  const { name } = table
  const { parts, holder, altered } = names
  const months = await select<[string, number]>(
    front,
    `SELECT partition_id, sum(rows) FROM ${parts}
     WHERE database = '${DATABASE}' AND table = '${holder(name)}' AND active AND partition_id < '${monthOf(floor)}'
     GROUP BY partition_id`,
  )
  let rows = 0
  for (const [month, count] of months) {
    const query = `ALTER TABLE ${altered(name)} DROP PARTITION ID '${month}' SETTINGS max_partition_size_to_drop = 0`
    await onEach(altering, (client) => client.command({ query }))
    rows += Number(count)
  }
  return rows
}

function monthOf(day: string): string {
  return day.slice(0, 7).replace('-', '')
}

/** Tenants with rows to remove, by the first day they keep. */
function byFloor(tenants: readonly string[], policy: RetentionPolicy, nowMs: number): Map<string, string[]> {
  const floors = new Map<string, string[]>()
  for (const tenant of tenants) {
    const floor = retentionFloor(policy, tenant, nowMs)!
    floors.set(floor, [...(floors.get(floor) ?? []), tenant])
  }
  return floors
}

async function removeRows(aged: AgedTable, floors: ReadonlyMap<string, readonly string[]>): Promise<number> {
  const { front, altering, table, names } = aged
  const { name, day } = table
  const { altered, conditionsMax } = names
  let removed = 0
  const conditions = [...floors].flatMap(([floor, tenants]) =>
    portionsOf(tenants).map((some) => `(${day} < '${floor}' AND tenant_id IN (${some.map(quote).join()}))`),
  )
  for (let at = 0; at < conditions.length; at += conditionsMax) {
    const condition = conditions.slice(at, at + conditionsMax).join(' OR ')
    const [found] = await select<[number]>(front, `SELECT count() FROM ${name} WHERE ${condition}`)
    removed += Number(found?.[0] ?? 0)
    const query = `ALTER TABLE ${altered(name)} DELETE WHERE ${condition}`
    const clickhouse_settings = { mutations_sync: '0', max_query_size: '67108864' } as const
    await onEach(altering, (client) => client.command({ query, clickhouse_settings }))
  }
  return removed
}

function portionsOf(tenants: readonly string[]): string[][] {
  const portions: string[][] = []
  for (let at = 0; at < tenants.length; at += TENANTS_A_STATEMENT)
    portions.push(tenants.slice(at, at + TENANTS_A_STATEMENT))
  return portions
}

async function select<T>(client: ClickHouseClient, query: string): Promise<T[]> {
  const settings = { max_query_size: '67108864' }
  const result = await client.query({ query, format: 'JSONCompactEachRow', clickhouse_settings: settings })
  return await result.json<T>()
}
