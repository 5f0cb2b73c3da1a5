import { pause } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import type { RawStreams } from './entries.ts'

interface BlockingRead {
  /** The connection that waits; not shared. */
  readonly blocking: RedisClient
  /** Another connection to the same servers. */
  readonly client: RedisClient
  readonly group: string
  readonly consumer: string
  readonly count: number
  readonly streams: readonly string[]
  /** How long to wait, at most `BLOCK_MS_MAX`, or a second without a signal or on a Redis Cluster. Redis may end the wait a tick late. */
  readonly blockMs: number
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
}

/** Well below the command time-out of a blocking connection. */
export const BLOCK_MS_MAX = 2_500
/** A wait that no signal can end also delays a stop. */
const UNENDED_MS_MAX = 1_000
const END_AGAIN_MS = 20

/**
 * Waits for new entries in one of the streams, and reads them. A signal makes Redis end the wait as if the time were over. Closing the
 * connection instead could lose entries that Redis has just delivered to it.
 */
export async function readBlocking(read: BlockingRead): Promise<NonNullable<RawStreams>> {
  const { blocking, client, blockMs, signal } = read
  // A Redis Cluster client does not say which of its connections waits, so nothing can unblock it.
  if (signal === undefined || blockMs <= UNENDED_MS_MAX || 'nodes' in blocking) {
    return await ask(read, Math.min(blockMs, UNENDED_MS_MAX))
  }
  const id = idOf(blocking)
  let isAnswered = false
  const end = async () => {
    // Redis may not have begun the wait yet, so this repeats.
    while (!isAnswered) {
      await client.call('CLIENT', 'UNBLOCK', await id)
      await pause(END_AGAIN_MS)
    }
  }
  // If this fails, the read fails too, or ends at its time-out.
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

/** The connection's id, read before the blocking command. A new connection has a new id. */
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
