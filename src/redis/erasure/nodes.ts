import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from '../connect.ts'

const SCAN_COUNT = 1_000

/** The servers that take writes. */
export function mastersOf(client: RedisClient): Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

/** Every key that matches and is there during the whole call, perhaps more than once. */
export async function* keysLike(client: RedisClient, pattern: string): AsyncGenerator<string> {
  for (const node of mastersOf(client)) {
    let cursor = '0'
    do {
      const [next, found] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
      yield* found
      cursor = next
    } while (cursor !== '0')
  }
}
