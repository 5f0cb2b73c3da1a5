import { pause } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import type { RawStreams } from './entries.ts'

export interface BlockingRead {
  /** Where it waits; not shared. */
  readonly blocking: RedisClient
  /** Another connection to the same servers. */
  readonly client: RedisClient
  readonly group: string
  readonly consumer: string
  readonly count: number
  readonly streams: readonly string[]
  /**
   * How long it may wait, at most `BLOCK_MS_MAX`; without a signal, and on a Redis Cluster, a second. Redis may end it a tick of its
   * clock late.
   */
  readonly blockMs: number
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
}

/** A command may be under way far longer before it counts as lost. */
export const BLOCK_MS_MAX = 2_500
/** What nothing ends bounds how long a stop takes. */
const UNENDED_MS_MAX = 1_000
const END_AGAIN_MS = 20

/**
 * Waits until there are new entries in one of the streams, and reads them. A signal makes Redis answer as if the time were over:
 * a connection that is cut off instead may have been given entries that nobody gets.
 */
export async function readBlocking(read: BlockingRead): Promise<NonNullable<RawStreams>> {
  const { blocking, client, blockMs, signal } = read
  // Of a cluster nobody knows which connection a command takes.
  if (signal === undefined || blockMs <= UNENDED_MS_MAX || 'nodes' in blocking) {
    return await ask(read, Math.min(blockMs, UNENDED_MS_MAX))
  }
  const id = idOf(blocking)
  let isAnswered = false
  const end = async () => {
    // It may not have begun to wait.
    while (!isAnswered) {
      await client.call('CLIENT', 'UNBLOCK', await id)
      await pause(END_AGAIN_MS)
    }
  }
  // Where that fails, the read fails as well, or its time ends it.
  const endSoon = () => void end().catch(() => {})
  signal.addEventListener('abort', endSoon, { once: true })
  if (signal.aborted) endSoon()
  try {
    return await ask(read, Math.min(blockMs, BLOCK_MS_MAX))
  } finally {
    isAnswered = true
    signal.removeEventListener('abort', endSoon)
  }
}

const ids = new WeakMap<RedisClient, Promise<number>>()

/** The id of its connection. One that is made anew has another: it is asked for ahead of the command that is to be ended. */
function idOf(blocking: RedisClient): Promise<number> {
  let id = ids.get(blocking)
  if (id === undefined) {
    id = blocking.call('CLIENT', 'ID') as Promise<number>
    ids.set(blocking, id)
    const forget = () => {
      ids.delete(blocking)
      blocking.off('close', forget)
    }
    id.catch(forget)
    blocking.once('close', forget)
  }
  return id
}

async function ask({ blocking, group, consumer, count, streams }: BlockingRead, blockMs: number) {
  const ids = streams.map(() => '>')
  const reply = (await blocking.callBuffer(
    'XREADGROUP',
    ...['GROUP', group, consumer, 'COUNT', count, 'BLOCK', Math.ceil(blockMs), 'STREAMS', ...streams, ...ids],
  )) as RawStreams
  return reply ?? []
}
