import { StartupError } from '../core/run/errors.ts'
import { Lifecycle } from '../core/run/lifecycle.ts'
import type { Service } from '../core/run/service.ts'
import { demandWhole } from '../redis/backup/restore-mark.ts'
import { demandInPlace } from '../redis/partitions/change-mark.ts'
import { agreeOnPartitions } from '../redis/streams/topology.ts'
import { retry } from '../runner/loop.ts'
import type { Parts } from './parts.ts'

const PING_DELAY = { minMs: 100, maxMs: 500 }

/** The stores hold no half of a backup or of a change of partitions, and partitions and consumer groups are there, before anything reads or writes. */
export function topology(parts: Parts): Service {
  const life = new Lifecycle()
  const stopping = new AbortController()
  return {
    name: 'topology',
    start: () =>
      life.start(async () => {
        await untilRedisAnswers(parts, stopping.signal)
        await demandWhole(parts.shared)
        await demandInPlace(parts.shared)
        await agreeOnPartitions(parts.shared, parts.config.partitions)
        await parts.createGroups()
      }),
    stop: () => life.stop(async () => stopping.abort()),
  }
}

/** A Redis of somebody else's may still be starting, as everything may after a power cut. */
async function untilRedisAnswers({ shared, config }: Parts, signal: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + config.redisStartMs
  try {
    await retry(() => shared.ping(), { delay: PING_DELAY, deadlineMs, signal })
  } catch (error) {
    throw new StartupError(`Redis does not answer (REDIS_URL): ${(error as Error).message}`)
  }
}
