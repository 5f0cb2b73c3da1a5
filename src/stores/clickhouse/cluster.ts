import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { StartupError } from '../../run/errors.ts'
import { DATABASE } from './client.ts'
import { quote } from './quote.ts'
import { EVENTS } from './tables.ts'

/** For queries to all replicas: skips those that do not answer. */
export const REPLICAS_MAY_BE_DOWN = { skip_unavailable_shards: 1 } as const
export const ALL_REPLICAS_MUST_ANSWER = { skip_unavailable_shards: 0 } as const

/** An insert succeeds once a majority of replicas has the rows. The time-out is below that of a request. */
export const BY_MAJORITY = { insert_quorum: 'auto', insert_quorum_parallel: 1, insert_quorum_timeout: 40_000 } as const

/** The number of replicas of each shard; shards are numbered from 1. */
export type Shards = ReadonlyMap<number, number>

/**
 * The shards of a cluster, as the answering host knows them.
 * @throws StartupError when it does not know the cluster
 */
export async function shardsOf(client: ClickHouseClient, cluster: string): Promise<Shards> {
  const rows = await read<[string, number, number]>(
    client,
    'SELECT cluster, shard_num, count() FROM system.clusters GROUP BY cluster, shard_num ORDER BY cluster, shard_num',
  )
  const shards = new Map(rows.filter(([name]) => name === cluster).map(([, shard, replicas]) => [shard, replicas]))
  if (shards.size > 0) return shards
  const known = [...new Set(rows.map(([name]) => name))].join(', ') || 'none'
  throw new StartupError(`CLICKHOUSE_CLUSTER "${cluster}": must be a cluster that ClickHouse knows: ${known}`)
}

/**
 * @param cluster undefined: one server
 * @throws StartupError when the existing tables have the other form, or belong to another cluster
 */
export async function assertFormOfTables(client: ClickHouseClient, cluster: string | undefined): Promise<void> {
  assertForm(await formOfTables(client), cluster)
}

/** The cluster of existing tables; undefined: one server. */
interface Form {
  readonly cluster: string | undefined
}

/** As `assertFormOfTables`. @param form undefined: there are no tables */
export function assertForm(form: Form | undefined, cluster: string | undefined): void {
  if (form === undefined || form.cluster === cluster) return
  const found = form.cluster === undefined ? 'tables of one server' : `tables of cluster "${form.cluster}"`
  const set = cluster === undefined ? 'CLICKHOUSE_CLUSTER is not set' : `CLICKHOUSE_CLUSTER is "${cluster}"`
  throw new StartupError(
    `${set}, and the database ${DATABASE} has ${found}: nothing is changed; src/stores/clickhouse/README.md says how to move`,
  )
}

/** Undefined when there are no tables. Recognises engines of other names too, as in a managed service. */
export async function formOfTables(client: ClickHouseClient): Promise<Form | undefined> {
  const [row] = await read<[string, string]>(
    client,
    `SELECT engine, engine_full FROM system.tables WHERE database = ${quote(DATABASE)} AND name = ${quote(EVENTS.name)}`,
  )
  if (row === undefined) return undefined
  const [engine, definition] = row
  return { cluster: engine === 'Distributed' ? (/^Distributed\('([^']*)'/.exec(definition)?.[1] ?? '') : undefined }
}

/** Rows of a query, with 64-bit numbers as numbers. */
export async function read<T>(client: ClickHouseClient, query: string, more: ClickHouseSettings = {}): Promise<T[]> {
  const settings = { output_format_json_quote_64bit_integers: 0, ...more } as const
  const result = await client.query({ query, format: 'JSONCompactEachRow', clickhouse_settings: settings })
  return await result.json<T>()
}
