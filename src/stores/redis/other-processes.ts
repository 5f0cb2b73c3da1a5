import type { RedisClient } from './connect.ts'
import { mastersOf } from './nodes.ts'

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
