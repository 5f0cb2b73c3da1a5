import type { Config } from '../../config/config.ts'
import { ownValues } from '../../config/setting.ts'
import { ClickHouseAgedTables } from '../../operations/retention/aged-tables.ts'
import type { AgedStore } from '../../operations/retention/ports.ts'
import { Retention } from '../../operations/retention/service.ts'
import { createClickHouseMetrics, createShareMetrics } from '../../operations/status/metrics.ts'
import { clickhouseStatus, damageWatch } from '../../operations/status/role.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import type { Membership } from '../../stores/redis/membership.ts'
import { quotaWatch } from '../../tenants/role.ts'
import type { Sink } from '../declaration/pipeline.ts'
import type { InsertBatcherOptions } from '../runner/insert-batcher.ts'
import { SinkWorker } from '../runner/sink-worker.ts'
import { SinkStreams, type SinkStreamsOptions, sinkMembership } from '../streams/sink-streams.ts'

/** Of a sink, all its shares together, read ahead of an insert; 100,000 rows have 30 MB and more. */
const AHEAD_BYTES_MAX = 16 * 2 ** 20
/** Of one insert, about: rows may have 10 KB and more, a process holds them all, and ClickHouse takes no body above 256 MiB. */
const INSERT_BYTES_MAX = 64 * 2 ** 20
/** Of one insert of a share, where there are several, which a process may hold as well. */
const SHARE_BYTES_MAX = 32 * 2 ** 20

/** How a sink reads its stream, and what of it; default: as suits rows, and all. */
type Reading = Pick<SinkStreamsOptions, 'readEntriesMax' | 'clusterPollMs' | 'share'>

/** Moves what the steps kept to the destinations. Ready when the one is that completes jobs: analysts can ask at once. */
export function sinkRole(context: ProcessContext): Service[] {
  const { sinkLingerMs, clickhouseUrl, clickhouseCluster: cluster } = context.config
  createClickHouseMetrics(context.telemetry.metrics, () => clickhouseStatus(clickhouseUrl))
  const shared = new Map<string, Membership>()
  const batching = batchingOf(context.config)
  const workers = context.pipeline.sinks
    .filter(({ takes = 'rows' }) => takes === 'rows')
    .map((sink) => sharedSink(context, sink, { ...batching, lingerMs: sink.lingerMs ?? sinkLingerMs }, shared))
  if (shared.size > 0) createShareMetrics(context.telemetry.metrics, shared)
  // Behind the sinks, which bring the schema up to date. Replicas replace each other's damaged parts.
  const watches = [quotaWatch(context), ...(cluster === undefined ? [damageWatch(context)] : [])]
  return [...workers, retention(context, new ClickHouseAgedTables(clickhouseUrl, cluster)), ...watches]
}

/** What a share of a sink inserts at once, however large rows are. */
export function batchingOf({ sinkRowsMax, sinkShares }: Pick<Config, 'sinkRowsMax' | 'sinkShares'>) {
  return {
    rowsMax: sinkRowsMax,
    bytesMax: sinkShares === 1 ? INSERT_BYTES_MAX : SHARE_BYTES_MAX,
    aheadBytesMax: AHEAD_BYTES_MAX / sinkShares,
  }
}

/** Sees to it that events leave a store by their age. */
export function retention(context: ProcessContext, store: AgedStore): Service {
  const { clock, log } = context.telemetry
  return new Retention({ store, records: context.retentionRecords, clock, log })
}

/** A worker for each share of a sink, of which those insert whose shares this process holds. */
function sharedSink(
  context: ProcessContext,
  sink: Sink,
  batching: InsertBatcherOptions,
  shared: Map<string, Membership>,
): Service {
  const { sinkShares: shares, processName } = context.config
  if (shares === 1) return sinkWorker(context, sink, batching)
  const { group } = sink
  const membership = sinkMembership({ client: context.leases, group, shares, processName, log: context.telemetry.log })
  shared.set(group, membership)
  const workers = Array.from({ length: shares }, (_, number) =>
    sinkWorker(context, sink, batching, { share: membership.share(number) }),
  )
  return {
    name: `sink ${group}`,
    start: async () => void (await Promise.all(workers.map((worker) => worker.start()))),
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
  }
}

/** The worker of a sink, with connections of its own. */
export function sinkWorker(
  context: ProcessContext,
  sink: Sink,
  batching: InsertBatcherOptions,
  reading: Reading = {},
): SinkWorker {
  const { group, from, into, completesJobs = false } = sink
  const { clickhouseUrl, clickhouseCluster, partitions, own } = context.config
  const settings = ownValues(into.settings, own)
  const { log } = context.telemetry
  context.workMetrics.sink(group)
  const source = new SinkStreams({
    blocking: context.connectBlocking(group),
    client: context.connectLoop(group),
    leases: context.leases,
    cluster: context.isCluster,
    partitions,
    group,
    from,
    completesJobs,
    // What another sink refuses is stored all the same.
    outcomesTo: completesJobs ? context.pipeline.outcomes : undefined,
    ensureGroups: () => context.createGroups(),
    processName: context.config.processName,
    log,
    ...reading,
  })
  return new SinkWorker({
    group,
    source,
    inserter: into.open({ settings, clickhouseUrl, clickhouseCluster, archive: context.archiveLocation, log }),
    startsReady: completesJobs,
    ...batching,
    log,
    onInserted: (rows, durationMs) => {
      context.workMetrics.inserted(group, rows, durationMs)
      if (completesJobs) context.recent.did('stored', rows)
    },
    onInsertFailed: () => context.workMetrics.insertFailed(group),
    onRefused: (rows, kind) => context.workMetrics.refused(group, rows, kind),
  })
}
