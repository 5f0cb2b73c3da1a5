import type { RawEntry } from '../../../pipeline/streams/entries.ts'
import { UnavailableError } from '../../../run/errors.ts'
import { poll } from '../../../run/loop.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'

/* Redis keeps a deleted stream entry in memory and in its files until all entries of its node are deleted. */

const LOOK_EVERY_MS = 100
/** Default of `stream-node-max-entries`. */
const NODE_ENTRIES = 100
const PAGE_ENTRIES = 100

const swapStreamScript = loadScript(import.meta.url, './swapStream-2.lua')

/**
 * Resolves when trimming has removed the nodes that streams had at the time of the call.
 * @param trim removes entries that every group has finished
 * @throws UnavailableError on timeout
 */
export async function untilNodesGone(
  client: RedisClient,
  streams: readonly string[],
  trim: () => Promise<unknown>,
  deadlineMs: number,
): Promise<void> {
  const open = new Map<string, number>()
  for (const key of streams) open.set(key, (await sizeOf(client, key)).added)
  const areGone = async () => {
    await trim()
    for (const [key, addedThen] of open) {
      const { added, length } = await sizeOf(client, key)
      // Enough later entries are gone to have filled the node of the earlier ones.
      if (length === 0 || added - length >= addedThen + NODE_ENTRIES) open.delete(key)
    }
    return open.size === 0 || undefined
  }
  if (await poll(areGone, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
  throw new UnavailableError('Redis did not remove finished entries in time: see ipid status')
}

async function sizeOf(client: RedisClient, key: string): Promise<{ added: number; length: number }> {
  if ((await client.exists(key)) === 0) return { added: 0, length: 0 }
  const info = (await client.call('XINFO', 'STREAM', key)) as (string | number)[]
  const field = (name: string) => Number(info[info.indexOf(name) + 1])
  return { added: field('entries-added'), length: field('length') }
}

/**
 * Rewrites the dead letters of a partition, so that nothing is left of removed ones. One process at a time.
 * @param assertAlone throws when another process may do it
 */
export async function renewLetters(
  client: RedisClient,
  partition: number,
  deadlineMs: number,
  assertAlone: () => void = () => {},
): Promise<void> {
  const [stream, copy] = [keys.dead(partition), keys.deadCopy(partition)]
  const renewed = async () => {
    await client.del(copy)
    for (let from = '-'; ; ) {
      assertAlone()
      const page = (await client.callBuffer('XRANGE', stream, from, '+', 'COUNT', PAGE_ENTRIES)) as RawEntry[]
      for (const [id, fields] of page) await client.callBuffer('XADD', copy, id, ...(fields ?? []))
      if (page.length < PAGE_ENTRIES) break
      from = `(${page.at(-1)![0].toString('latin1')}`
    }
    assertAlone()
    return (await swapStreamScript.run(client, [stream, copy], [PAGE_ENTRIES])) === 1 || undefined
  }
  if (await poll(renewed, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
  throw new UnavailableError('dead letters arrive too fast to be rewritten: see ipid dead-letter list')
}
