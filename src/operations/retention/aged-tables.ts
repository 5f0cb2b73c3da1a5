import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { connectClickHouse, DATABASE } from '../../stores/clickhouse/client.ts'
import { ALL_HAVE_TO_ANSWER } from '../../stores/clickhouse/cluster.ts'
import { everyReplica, everyShard, localOf, onCluster } from '../../stores/clickhouse/cluster-form.ts'
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
  readonly #url: string
  readonly #names: TableNames

  /**
   * @param url as for `connectClickHouse`
   * @param cluster of the tables; undefined: one server
   */
  constructor(url: string, cluster: string | undefined) {
    this.#url = url
    this.#names = tableNamesOf(cluster)
  }

  async removeAged(policy: RetentionPolicy, nowMs: number): Promise<number> {
    const options = {
      application: 'retention',
      database: DATABASE,
      requestTimeoutMs: STATEMENT_MS,
      connectionsMax: 1,
      settings: this.#names.settings,
    }
    const client = connectClickHouse(this.#url, options)
    try {
      let rows = 0
      for (const table of TABLES) rows += await removeFrom(client, this.#names, table, policy, nowMs)
      return rows
    } finally {
      await client.close()
    }
  }

  async close(): Promise<void> {}
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

function tableNamesOf(cluster: string | undefined): TableNames {
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
    altered: (table) => `${DATABASE}.${localOf(table)} ${onCluster(cluster)}`,
    parts: everyShard(cluster, 'system.parts'),
    mutations: everyReplica(cluster, 'system.mutations'),
    // A statement for all hosts goes through Keeper, which accepts a megabyte at a time.
    conditionsMax: 1,
    settings: ALL_HAVE_TO_ANSWER,
  }
}

async function removeFrom(
  client: ClickHouseClient,
  names: TableNames,
  table: Table,
  policy: RetentionPolicy,
  nowMs: number,
): Promise<number> {
  // Does not repeat mutations that are still running.
  if ((await select(client, openMutations(names, table))).length > 0) return 0
  const dueOf = async () => {
    const oldest = await select<[string, string]>(
      client,
      `SELECT tenant_id, toString(min(${table.day})) FROM ${table.name} GROUP BY tenant_id`,
    )
    return oldest.filter(([tenant, day]) => day < (retentionFloor(policy, tenant, nowMs) ?? ''))
  }
  if ((await dueOf()).length === 0) return 0
  const dropped = await dropMonths(client, names, table, commonFloor(policy, nowMs))
  const tenants = (await dueOf()).map(([tenant]) => tenant)
  return dropped + (await removeRows(client, names, table, byFloor(tenants, policy, nowMs)))
}

function openMutations({ mutations, holder }: TableNames, { name }: Table): string {
  return `
    SELECT mutation_id FROM ${mutations}
    WHERE database = '${DATABASE}' AND table = '${holder(name)}' AND NOT is_done AND command LIKE '%DELETE WHERE%'`
}

/** Drops months that no tenant keeps, even of tenants with rows added meanwhile. */
async function dropMonths(
  client: ClickHouseClient,
  { parts, holder, altered }: TableNames,
  { name }: Table,
  floor: string | undefined,
): Promise<number> {
  if (floor === undefined) return 0
  const months = await select<[string, number]>(
    client,
    `SELECT partition_id, sum(rows) FROM ${parts}
     WHERE database = '${DATABASE}' AND table = '${holder(name)}' AND active AND partition_id < '${monthOf(floor)}'
     GROUP BY partition_id`,
  )
  let rows = 0
  for (const [month, count] of months) {
    const query = `ALTER TABLE ${altered(name)} DROP PARTITION ID '${month}' SETTINGS max_partition_size_to_drop = 0`
    await client.command({ query })
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

async function removeRows(
  client: ClickHouseClient,
  { altered, conditionsMax }: TableNames,
  { name, day }: Table,
  floors: ReadonlyMap<string, readonly string[]>,
): Promise<number> {
  let removed = 0
  const conditions = [...floors].flatMap(([floor, tenants]) =>
    portionsOf(tenants).map((some) => `(${day} < '${floor}' AND tenant_id IN (${some.map(quote).join()}))`),
  )
  for (let at = 0; at < conditions.length; at += conditionsMax) {
    const condition = conditions.slice(at, at + conditionsMax).join(' OR ')
    const [found] = await select<[number]>(client, `SELECT count() FROM ${name} WHERE ${condition}`)
    removed += Number(found?.[0] ?? 0)
    await client.command({
      query: `ALTER TABLE ${altered(name)} DELETE WHERE ${condition}`,
      clickhouse_settings: { mutations_sync: '0', max_query_size: '67108864' },
    })
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
