import { Cluster, type Redis } from 'ioredis'
import { shown } from '../../config/values.ts'
import { StartupError, UnavailableError } from '../../run/errors.ts'
import type { RedisClient } from './connect.ts'

const SCAN_COUNT = 1_000

/** The servers that take writes. */
export function mastersOf(client: RedisClient): Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

/**
 * A Sentinel answers PING like a server, but knows none of our commands.
 * @param url of the client
 * @throws StartupError when the client is connected to one
 */
export async function assertNoSentinel(client: RedisClient, url: string): Promise<void> {
  if (client instanceof Cluster) return
  // A user may lack the right to ask.
  const info = await client.info('server').catch(() => '')
  if (!/^redis_mode:sentinel\b/m.test(info)) return
  throw StartupError.of(`${shown(url)} is a Sentinel`, 'REDIS_URL must be redis-sentinel://…/NAME of a master')
}

/** All matching keys that exist during the whole call. May repeat keys. */
export async function* keysLike(client: RedisClient, pattern: string): AsyncGenerator<string> {
  for (const node of mastersOf(client)) {
    const pages = scanPages((cursor) => node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT))
    for await (const found of pages) yield* found
  }
}

/**
 * Follows the cursor of SCAN or HSCAN to its end, page by page. A broken server or proxy that repeats a cursor would keep the reader
 * busy for ever. Brent's cycle detection notices that with one cursor in memory.
 * @param ask reads the page at a cursor
 * @throws UnavailableError when a cursor repeats, or is not a number
 */
export async function* scanPages(
  ask: (cursor: string) => Promise<readonly [next: string, page: string[]]>,
): AsyncGenerator<string[], void> {
  let cursor = '0'
  let anchor = cursor
  for (let [steps, stepsMax] = [0, 1]; ; steps++) {
    const [next, page] = await ask(cursor)
    yield page
    if (next === '0') return
    if (!/^\d+$/.test(next) || next === anchor) throw new UnavailableError(`Redis repeats the cursor ${next} of a scan`)
    if (steps === stepsMax) {
      anchor = next
      stepsMax *= 2
      steps = 0
    }
    cursor = next
  }
}

/**
 * The connection name of another ipid process on this Redis; undefined if there is none.
 * @param harmless a connection name to ignore
 */
export async function connectedAs(client: RedisClient, harmless?: string): Promise<string | undefined> {
  for (const node of mastersOf(client)) {
    const own = String(await node.call('CLIENT', 'ID'))
    const list = String(await node.call('CLIENT', 'LIST'))
    for (const [, id, name] of list.matchAll(/^id=(\d+) .*\bname=(ipid:\S+)/gm)) {
      if (id !== own && name !== harmless) return name
    }
  }
  return undefined
}
