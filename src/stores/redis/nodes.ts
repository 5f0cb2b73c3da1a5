import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from './connect.ts'
import { scanPages } from './scan.ts'

const SCAN_COUNT = 1_000

/** The servers that take writes. */
export function mastersOf(client: RedisClient): Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

/** All matching keys that exist during the whole call. May repeat keys. */
export async function* keysLike(client: RedisClient, pattern: string): AsyncGenerator<string> {
  for (const node of mastersOf(client)) {
    const pages = scanPages((cursor) => node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT))
    for await (const found of pages) yield* found
  }
}
