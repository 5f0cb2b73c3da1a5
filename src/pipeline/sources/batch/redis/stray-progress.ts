import type { Logger } from 'pino'
import { type DelayBounds, Loop } from '../../../../run/loop.ts'
import { PASSING } from '../../../../run/passing.ts'
import type { Service } from '../../../../run/service.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { assertSameConnection, lossesOf } from '../../../../stores/redis/connection-losses.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { keysLike } from '../../../../stores/redis/nodes.ts'

const EVERY_MS = 3_600_000
/** How often a process asks for the turn. */
const ASK_EVERY_MS = 60_000
const RETRY_DELAY: DelayBounds = { minMs: 5_000, maxMs: 300_000 }

/**
 * Deletes progress without a job once an hour. A job's progress normally ends with it, but later events may be counted again: after a
 * fail-over to a Redis that knows nothing of the job, or after the removal of its tenant. Any number of processes may run it. One has
 * the turn.
 */
export function strayProgress(client: RedisClient, log: Logger): Service {
  return new Loop({
    name: 'stray progress',
    round: async () => {
      const isOurs = (await client.set(keys.strayProgressTurn(), '', 'PX', EVERY_MS, 'NX')) === 'OK'
      if (isOurs) await removeStrayProgress(client)
      return ASK_EVERY_MS
    },
    failed: (err, delayMs) =>
      log.warn({ err, delay_ms: Math.round(delayMs), ...PASSING }, 'the removal of progress without a job waits'),
    delay: RETRY_DELAY,
  })
}

/** Deletes the progress of all jobs that have ended or never existed. @returns the number of deleted keys */
export async function removeStrayProgress(client: RedisClient): Promise<number> {
  const losses = lossesOf(client)
  let removed = 0
  for await (const key of keysLike(client, keys.jobProgressPattern())) {
    // A job is open before its first event is counted, and never again after its end.
    const isOpen = await client.hexists(keys.openJobs(), key.slice(key.indexOf(':job:') + ':job:'.length))
    // The progress of a failed job expires, and counts on until then.
    if (isOpen === 1 || (await client.pttl(key)) !== -1) continue
    assertSameConnection(client, losses)
    removed += await client.del(key)
  }
  return removed
}
