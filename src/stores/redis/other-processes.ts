import type { RedisClient } from './connect.ts'
import { mastersOf } from './nodes.ts'

/**
 * The name under which another process of ours is connected to Redis; undefined when none is.
 * @param harmless the name of connections that do not count
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
