import type { Logger } from 'pino'
import { pino } from 'pino'
import { ingest } from '../../pipelines/ingest.ts'
import { ENRICHMENT_COLUMNS, EVENT_COLUMNS } from '../../schemas/row.ts'
import { isClusterUrl } from '../../src/config/redis-url.ts'
import { type Pipeline, type Sink, stepsOfJobs } from '../../src/pipeline/declaration/pipeline.ts'
import type { Enricher } from '../../src/pipeline/event/enrichment.ts'
import { type Envelope, EnvelopeState, identityOf } from '../../src/pipeline/event/envelope.ts'
import { SinkWorker } from '../../src/pipeline/runner/sink-worker.ts'
import { StepWorker } from '../../src/pipeline/runner/step-worker.ts'
import { dedup } from '../../src/pipeline/stages/dedup.ts'
import { enrich } from '../../src/pipeline/stages/enrich.ts'
import { filterNoise } from '../../src/pipeline/stages/filter-noise.ts'
import { GroupCommit } from '../../src/pipeline/streams/group-commit.ts'
import { StreamGroupReader } from '../../src/pipeline/streams/group-reader.ts'
import { RedisSeenStore } from '../../src/pipeline/streams/seen-store.ts'
import { SinkStreams } from '../../src/pipeline/streams/sink-streams.ts'
import { createGroups } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'

export const silent: Logger = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' })

/** A sink of the default pipeline. Tests name sinks, so that another one between them changes nothing. */
export function sinkNamed(group: 'clickhouse' | 'outcomes' | 'archive'): Sink {
  return ingest.sinks.find((sink) => sink.group === group)!
}

/** The default pipeline with these sinks only, for tests that run some of its groups themselves. */
export const threeSinks: Pipeline = {
  ...ingest,
  sinks: (['clickhouse', 'outcomes', 'archive'] as const).map(sinkNamed),
}

/** The default pipeline split between every two stages. */
export const splitPipeline: Pipeline = {
  ...ingest,
  steps: [
    { group: 'enrich', from: 'intake', stages: [enrich], to: 'known' },
    { group: 'filter', from: 'known', stages: [filterNoise], to: 'wanted' },
    { group: 'dedup', from: 'wanted', stages: [dedup], to: 'enriched' },
  ],
}

/** An envelope of a tenant, its row complete. */
export function envelope(tenantId: string, eventId: string, columns: Partial<Record<string, string>> = {}): Envelope {
  const now = (Date.now() / 1000).toFixed(3)
  const defaults: Partial<Record<string, string>> = {
    ip: '192.0.2.1',
    tenant_id: tenantId,
    event_id: eventId,
    received_at: now,
    timestamp: now,
    session_id: '\\N',
    account_id: 'example.com',
    company_id: 'example.com',
    asn: '0',
    quality: '50',
  }
  const row = [...EVENT_COLUMNS, ...ENRICHMENT_COLUMNS].map((c) => columns[c] ?? defaults[c] ?? '').join('\t')
  return { identity: identityOf(tenantId, eventId), state: EnvelopeState.Enriched, row }
}

/** A worker for one step of a pipeline, with its own connections. */
export async function startWorker(
  url: string,
  pipeline: Pipeline,
  group: string,
  partitions: number,
  enricher: Enricher,
  claimIdleMs = 300,
): Promise<{ worker: StepWorker; stop: () => Promise<void> }> {
  const { from, to, stages } = pipeline.steps.find((step) => step.group === group)!
  const { readEntriesMax, dedupWindowMs } = pipeline.limits
  const client = quiet(connectRedis(url, { name: 'test-worker', kind: 'loop', timeoutMs: 2_000 }))
  const worker = new StepWorker({
    group,
    stages,
    tools: {
      enricher,
      hostnames: undefined,
      seen: new RedisSeenStore({ client, clock: systemClock, group, from, windowMs: dedupWindowMs }),
    },
    deliveriesMax: 5,
    log: silent,
    readers: Array.from(
      { length: partitions },
      (_, partition) =>
        new StreamGroupReader({
          client,
          blocking: quiet(connectRedis(url, { name: 'test-blocking', kind: 'loop', timeoutMs: 3_000 })),
          partition,
          group,
          consumer: `test-${Math.random()}`,
          from,
          to,
          joinsOutput: pipeline.steps.every((step) => step.from !== to),
          outcomesTo: pipeline.outcomes,
          entriesMax: readEntriesMax,
          claimIdleMs,
          countsJobs: stepsOfJobs(pipeline).some((step) => step.group === group),
          dedupWindowMs,
          ensureGroups: () => createGroups(client, pipeline, partitions),
        }),
    ),
  })
  await worker.start()
  return {
    worker,
    async stop() {
      await worker.stop()
      client.disconnect()
    },
  }
}

/** A sink of the stream `enriched` that keeps its rows in memory. */
export async function collectingSink(url: string, group: string, partitions: number) {
  const [client, blocking] = [0, 1].map(() =>
    quiet(connectRedis(url, { name: 'sink', kind: 'loop', timeoutMs: 3_000 })),
  )
  const rows: string[] = []
  const options = {
    cluster: false,
    partitions,
    group,
    from: 'enriched',
    completesJobs: false,
    outcomesTo: undefined,
    ensureGroups: async () => {},
    log: silent,
  }
  const sink = new SinkWorker({
    startsReady: true,
    group,
    source: new SinkStreams({ client: client!, blocking: blocking!, ...options }),
    inserter: {
      prepare: async () => {},
      insert: async (parts) => void rows.push(...parts.map((part) => part.toString())),
      absent: async () => [],
      close: async () => {},
    },
    rowsMax: 1_000,
    lingerMs: 10,
    log: silent,
  })
  await sink.start()
  return {
    /** Ids of the events, in order of arrival. */
    ids: () => rows.flatMap((text) => text.trimEnd().split('\n')).map((row) => row.split('\t')[2]!),
    async stop() {
      await sink.stop()
      client!.disconnect()
      blocking!.disconnect()
    },
  }
}

/** A group commit with its own connection. */
export function startIntake(url: string, partitions: number, deadlineMs = 1_500) {
  const client = quiet(connectRedis(url, { name: 'test-intake', kind: 'request', timeoutMs: 1_000 }))
  const intake = groupCommit(client, { partitions, deadlineMs, cluster: isClusterUrl(url) })
  return { intake, stop: () => intake.stop().then(() => client.disconnect()) }
}

/** A group commit of live events. @param options those of a place; default: one partition, on one server */
export function groupCommit(
  client: RedisClient,
  options: { readonly partitions?: number; readonly deadlineMs: number; readonly cluster?: boolean },
): GroupCommit {
  return new GroupCommit({
    client,
    partitions: 1,
    stream: 'intake',
    outcomesTo: ingest.outcomes,
    rawTo: 'archive',
    lane: 'live',
    cluster: false,
    lingerMs: 1,
    blockEventsMax: 1_000,
    blockBytesMax: 262_144,
    waitingMax: 100_000,
    closedBecause: () => undefined,
    log: silent,
    ...options,
  })
}

export function quiet<T extends RedisClient>(client: T): T {
  client.on('error', () => {})
  return client
}
