import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { createStoreMetrics } from '../../operations/status/metrics.ts'
import { storeReads } from '../../operations/status/role/process.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import { pipelinedCalls } from '../../stores/redis/pipelined-calls.ts'
import { type Step, stepsOfJobs } from '../declaration/pipeline.ts'
import { StreamGroupReader } from '../streams/group-reader.ts'
import { Janitor } from '../streams/janitor.ts'
import { RedisSeenStore } from '../streams/seen-store.ts'
import { StepWorker } from './step-worker.ts'

/** Runs the steps, and the janitor that removes finished entries. */
export function processRole(context: ProcessContext): Service[] {
  const { config, telemetry, pipeline, shared } = context
  createStoreMetrics(telemetry.metrics, storeReads(context))
  const janitor = new Janitor({ client: shared, pipeline, partitions: config.partitions, log: telemetry.log })
  return [...pipeline.steps.map((step) => stepWorker(context, step, janitor)), janitor]
}

function stepWorker(context: ProcessContext, { group, from, to, stages }: Step, janitor: Janitor): StepWorker {
  const { config, telemetry, pipeline, shared, enrichment } = context
  const { readEntriesMax, dedupWindowMs, deliveriesMax } = context.limits
  const consumer = `${hostname()}-${randomUUID().slice(0, 8)}`
  const countsJobs = stepsOfJobs(pipeline).some((step) => step.group === group)
  const claims = pipelinedCalls(shared)
  const readers = Array.from({ length: config.partitions }, (_, partition) => {
    return new StreamGroupReader({
      blocking: context.connectBlocking(`${group}-${partition}`),
      client: shared,
      claims,
      partition,
      group,
      consumer,
      from,
      to,
      turn: partition / config.partitions,
      joinsOutput: pipeline.steps.every((step) => step.from !== to),
      outcomesTo: pipeline.outcomes,
      entriesMax: readEntriesMax,
      claimIdleMs: config.claimIdleMs,
      countsJobs,
      dedupWindowMs,
      ensureGroups: () => context.createGroups(),
    })
  })
  const seen = new RedisSeenStore({ client: shared, clock: telemetry.clock, group, from, windowMs: dedupWindowMs })
  return new StepWorker({
    group,
    stages,
    tools: { enricher: enrichment.engine, hostnames: enrichment.hostnames, seen },
    readers,
    deliveriesMax,
    log: telemetry.log,
    onSettled: (outcomes, stages) => {
      janitor.finished()
      context.workMetrics.settled(group, outcomes)
      for (const { stage, ...events } of stages) context.workMetrics.stage(group, stage)(events)
      for (const [outcome, events] of outcomes) {
        if (outcome !== 'isolated') context.recent.did('processed', events)
        if (outcome === 'dead') context.recent.did('dead', events)
      }
    },
  })
}
