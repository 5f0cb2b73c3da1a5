import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { replicasNeededBy } from '../../../stores/redis/durability/replicated.ts'
import { mastersOf } from '../../../stores/redis/nodes.ts'
import { sentinelMasterOf } from '../../../stores/redis/sentinel.ts'
import { onlineReplicas, writeRefusal } from '../../../stores/redis/write-refusal.ts'
import { clockAheadMs } from '../clocks.ts'
import type { RedisStatus } from '../system-status.ts'

/** Memory and durability of Redis. Uses INFO, because managed servers often forbid CONFIG. */
export async function readServers(client: RedisClient): Promise<RedisStatus> {
  const masters = mastersOf(client)
  const [servers, clocks, replication, refusal] = await Promise.all([
    Promise.all(masters.map(readServer)),
    Promise.all(masters.map((node) => clockAheadMs(() => node.time(), redisTimeMs))),
    readReplication(client, masters),
    writeRefusal(client),
  ])
  const sum = (value: (server: Server) => number) => servers.reduce((total, server) => total + value(server), 0)
  return {
    version: servers[0]?.version ?? '',
    used_bytes: sum((server) => server.used_bytes),
    max_bytes: sum((server) => server.max_bytes),
    used_share: Math.max(0, ...servers.map((server) => server.used_share)),
    evicts: servers.some(({ evicts }) => evicts),
    append_only: servers.every((server) => server.append_only),
    refuses_writes: refusal ?? null,
    clock_ahead_ms: clocks.map(([, aheadMs]) => aheadMs).sort((a, b) => Math.abs(b) - Math.abs(a))[0] ?? 0,
    ...replication,
  }
}

async function readReplication(
  client: RedisClient,
  masters: readonly Redis[],
): Promise<Pick<RedisStatus, 'sentinel' | 'replication'>> {
  const needed = replicasNeededBy(client)
  const master = client instanceof Cluster ? undefined : sentinelMasterOf(client)
  if (master === undefined && needed === 0) return {}
  const infos = await Promise.all(masters.map((node) => node.info('replication')))
  const replication = { replicas: Math.min(...infos.map(onlineReplicas)), wait_replicas: needed }
  if (master === undefined) return { replication }
  // Redis says this only when the setting is in force.
  return { sentinel: { master, ...replication, refuses_alone: /^min_(slaves|replicas)_good_/m.test(infos[0]!) } }
}

/** A value of INFO; `''` when it has none of this name. */
export function infoValue(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
}

/** The answer of TIME as Unix milliseconds. */
export function redisTimeMs([seconds, micros]: readonly (number | string)[]): number {
  return Number(seconds) * 1_000 + Number(micros) / 1_000
}

type Server = Omit<RedisStatus, 'refuses_writes' | 'clock_ahead_ms'>

async function readServer(node: Redis): Promise<Server> {
  // One section per call: a proxy in front of Redis may not support several.
  const info = (await Promise.all(['server', 'memory', 'persistence'].map((section) => node.info(section)))).join('\n')
  const value = (name: string) => infoValue(info, name)
  const [used, max] = [Number(value('used_memory')), Number(value('maxmemory'))]
  const policy = value('maxmemory_policy')
  return {
    version: value('valkey_version') || value('redis_version'),
    used_bytes: used,
    max_bytes: max,
    used_share: max > 0 ? used / max : 0,
    evicts: policy !== '' && policy !== 'noeviction',
    append_only: value('aof_enabled') === '1',
  }
}
