import { shown } from '../config/values.ts'
import { version } from '../config/version.ts'
import { agreeOnPartitions } from '../pipeline/streams/topology.ts'
import { causeWithRemedy } from '../run/cause-text.ts'
import { StartupError, throwLater, UnavailableError } from '../run/errors.ts'
import { pause, retry } from '../run/loop.ts'
import type { Service } from '../run/service.ts'
import { Lifecycle } from '../run/service.ts'
import { agreeOnForm } from '../stores/redis/data-form.ts'
import { assertNoSentinel } from '../stores/redis/nodes.ts'
import { assertNoRestore } from '../stores/redis/restore-mark.ts'
import type { ProcessContext } from './context.ts'

const PING_DELAY = { minMs: 100, maxMs: 500 }

/**
 * Before anything reads or writes: refuses data of a later version and stores with a half-finished restore, fixes the number of
 * partitions, and makes the consumer groups. Checks again after each loss of the connection, because a restore may have begun in the meantime.
 * @param end ends the process when the stores no longer fit it
 */
export function topology(context: ProcessContext, end: (reason: Error) => void = throwLater): Service {
  const life = new Lifecycle()
  const stopping = new AbortController()
  const { shared, config } = context
  const assertUsable = async () => {
    await agreeOnForm(shared, version())
    await assertNoRestore(shared)
    await agreeOnPartitions(shared, config.partitions)
  }
  const lookAgain = () => {
    assertUsable().catch((error) => {
      if (error instanceof StartupError) end(error)
    })
  }
  return {
    name: 'topology',
    start: () =>
      life.start(async () => {
        await untilRedisAnswers(context, stopping.signal)
        if (config.redisUrl !== undefined) await assertNoSentinel(shared, config.redisUrl)
        await assertUsable()
        await context.createGroups()
        shared.on('ready', lookAgain)
      }),
    stop: () =>
      life.stop(async () => {
        shared.off('ready', lookAgain)
        stopping.abort()
      }),
  }
}

/** After a power failure, a Redis of the user's own may start later than ipid. */
async function untilRedisAnswers({ shared, config }: ProcessContext, signal: AbortSignal): Promise<void> {
  const { redisUrl, redisStartMs } = config
  const deadlineMs = performance.now() + redisStartMs
  // The error of a command would say only that there is no connection.
  let cause: Error | undefined
  const note = (error: Error) => {
    cause = error
  }
  shared.on('error', note)
  const answered = new AbortController()
  // At a cluster, the command of a loop would wait for ever.
  const late = pause(redisStartMs, AbortSignal.any([signal, answered.signal])).then(() => {
    if (!answered.signal.aborted) throw new UnavailableError('no answer')
  })
  try {
    await Promise.race([retry(() => shared.ping(), { delay: PING_DELAY, deadlineMs, signal }), late])
  } catch (error) {
    const where = redisUrl === undefined ? 'Redis' : `Redis at ${JSON.parse(shown(redisUrl))}`
    const limit = `within ${redisStartMs / 1_000} s (REDIS_URL, REDIS_START_MS)`
    throw new StartupError(`${where} does not answer ${limit}: ${causeWithRemedy(cause ?? error)}`)
  } finally {
    answered.abort()
    shared.off('error', note)
  }
}
