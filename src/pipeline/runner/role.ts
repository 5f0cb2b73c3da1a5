import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { createStoreMetrics } from '../../operations/status/metrics.ts'
import { storeReads } from '../../operations/status/role.ts'
import type { Parts } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import { pipelinedCalls } from '../../stores/redis/pipelined-calls.ts'
import { type Step, stepsOfJobs } from '../declaration/pipeline.ts'
import { StreamGroupReader } from '../streams/group-reader.ts'
import { Janitor } from '../streams/janitor.ts'
import { RedisSeenStore } from '../streams/seen-store.ts'
import { StepWorker } from './step-worker.ts'

/** Runs the steps, and frees what every group has finished. */
export function processRole(parts: Parts): Service[] {
  const { config, telemetry, pipeline, shared } = parts
  createStoreMetrics(telemetry.metrics, storeReads(parts))
  const janitor = new Janitor({ client: shared, pipeline, partitions: config.partitions, log: telemetry.log })
  return [...pipeline.steps.map((step) => stepWorker(parts, step, janitor)), janitor]
}

function stepWorker(parts: Parts, { group, from, to, stages }: Step, janitor: Janitor): StepWorker {
  const { config, telemetry, pipeline, shared, enrichment } = parts
  const { readEntriesMax, dedupWindowMs, deliveriesMax } = parts.limits
  const consumer = `${hostname()}-${randomUUID().slice(0, 8)}`
  const countsJobs = stepsOfJobs(pipeline).some((step) => step.group === group)
  const claims = pipelinedCalls(shared)
  const readers = Array.from({ length: config.partitions }, (_, partition) => {
    return new StreamGroupReader({
      blocking: parts.connectBlocking(`${group}-${partition}`),
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
      ensureGroups: () => parts.createGroups(),
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
      parts.workMetrics.settled(group, outcomes)
      for (const { stage, ...events } of stages) parts.workMetrics.stage(group, stage)(events)
      for (const [outcome, events] of outcomes) {
        if (outcome !== 'isolated') parts.recent.did('processed', events)
        if (outcome === 'dead') parts.recent.did('dead', events)
      }
    },
  })
}
