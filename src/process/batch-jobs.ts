import { RedisBatchJobs } from '../pipeline/sources/batch/redis/jobs.ts'
import { IntakeGate } from '../pipeline/streams/intake-gate.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import type { ProcessContext } from './context.ts'

/** Closes intake while the pipeline is full. */
export function intakeGate({ config, limits, pipeline, shared, telemetry }: ProcessContext): IntakeGate {
  const { waitingEventsMax } = limits
  return new IntakeGate({
    client: shared,
    pipeline,
    partitions: config.partitions,
    waitingEventsMax,
    log: telemetry.log,
  })
}

/** A connection of its own, because uploads are long and must not delay live events. */
export function uploadConnection(context: ProcessContext): RedisClient {
  return context.connect({ name: 'uploads', kind: 'request', timeoutMs: context.config.redisLoopMs })
}

export function batchJobs(context: ProcessContext, client: RedisClient, gate: IntakeGate): RedisBatchJobs {
  const {
    partitions,
    batchQueueLimit: openMax,
    batchSpoolBytesMax: spoolBytesMax,
    writeDeadlineMs: deadlineMs,
  } = context.config
  const closedBecause = (archived: boolean) => gate.closedBecause(archived)
  const { clock } = context.telemetry
  return new RedisBatchJobs({ client, partitions, openMax, spoolBytesMax, deadlineMs, clock, closedBecause })
}
