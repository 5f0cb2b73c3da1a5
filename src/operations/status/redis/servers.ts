import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { replicasNeededBy } from '../../../stores/redis/durability/replicated.ts'
import { sentinelMasterOf } from '../../../stores/redis/sentinel.ts'
import type { RedisStatus } from '../system-status.ts'

/** Memory and durability of Redis. Uses INFO, because managed servers often forbid CONFIG. */
export async function readServers(client: RedisClient): Promise<RedisStatus> {
  const masters: Redis[] = client instanceof Cluster ? client.nodes('master') : [client]
  const servers = await Promise.all(masters.map(readServer))
  const replication = client instanceof Cluster ? {} : await readReplication(client)
  const sum = (value: (server: RedisStatus) => number) => servers.reduce((total, server) => total + value(server), 0)
  return {
    version: servers[0]?.version ?? '',
    used_bytes: sum((server) => server.used_bytes),
    max_bytes: sum((server) => server.max_bytes),
    used_share: Math.max(0, ...servers.map((server) => server.used_share)),
    evicts: servers.some(({ evicts }) => evicts),
    append_only: servers.every((server) => server.append_only),
    ...replication,
  }
}

async function readReplication(client: Redis): Promise<Pick<RedisStatus, 'sentinel' | 'replication'>> {
  const [master, needed] = [sentinelMasterOf(client), replicasNeededBy(client)]
  if (master === undefined && needed === 0) return {}
  const info = await client.info('replication')
  const replication = { replicas: info.match(/^slave\d+:.*\bstate=online\b/gm)?.length ?? 0, wait_replicas: needed }
  if (master === undefined) return { replication }
  // Redis says this only when the setting is in force.
  return { sentinel: { master, ...replication, refuses_alone: /^min_(slaves|replicas)_good_/m.test(info) } }
}

/** A value of INFO; `''` when it has none of this name. */
export function infoValue(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
}

async function readServer(node: Redis): Promise<RedisStatus> {
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
