import type { Config } from '../../config/config.ts'
import { ownValues } from '../../config/setting.ts'
import { ClickHouseAgedTables } from '../../operations/retention/aged-tables.ts'
import type { AgedStore } from '../../operations/retention/ports.ts'
import { Retention } from '../../operations/retention/service.ts'
import { createClickHouseMetrics, createShareMetrics } from '../../operations/status/metrics.ts'
import { damageWatch } from '../../operations/status/role/process.ts'
import { clickhouseStatus } from '../../operations/status/role/sources.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import type { Membership } from '../../stores/redis/membership.ts'
import { proxiedWatch, quotaWatch } from '../../tenants/role.ts'
import type { Sink } from '../declaration/pipeline.ts'
import { type InsertBatcherOptions, SinkWorker } from '../runner/sink-worker.ts'
import { SinkStreams, type SinkStreamsOptions, sinkMembership } from '../streams/sink-streams.ts'

/** Bytes that all shares of a sink together read ahead. 100,000 rows take 30 MB and more. */
const AHEAD_BYTES_MAX = 16 * 2 ** 20
/** Bytes of one insert, about. A process holds all its rows, which may have 10 KB each. ClickHouse accepts bodies up to 256 MiB. */
const INSERT_BYTES_MAX = 64 * 2 ** 20
/** The same for a share, if there are several: a process may hold the inserts of more than one. */
const SHARE_BYTES_MAX = 32 * 2 ** 20

/** The way a sink reads, and the content of its stream. */
type Reading = Pick<SinkStreamsOptions, 'readEntriesMax' | 'clusterPollMs' | 'share'>

/** Runs the sinks of rows. Ready when the destination of the sink that completes jobs is, so that analysts can query at once. */
export function sinkRole(context: ProcessContext): Service[] {
  const { sinkLingerMs, clickhouseUrl: url, clickhouseCluster: cluster, clickhouseHosts: hosts } = context.config
  createClickHouseMetrics(context.telemetry.metrics, () => clickhouseStatus(url))
  const shared = new Map<string, Membership>()
  const workers = context.pipeline.sinks
    .filter(({ takes = 'rows' }) => takes === 'rows')
    .map((sink) => sharedSink(context, sink, sink.lingerMs ?? sinkLingerMs, shared))
  if (shared.size > 0) createShareMetrics(context.telemetry.metrics, shared)
  // After the sinks, which migrate the schema. On a cluster, replicas repair damaged parts themselves.
  const watches = [
    ...[quotaWatch(context), proxiedWatch(context)],
    ...(cluster === undefined ? [damageWatch(context)] : []),
  ]
  return [...workers, retention(context, new ClickHouseAgedTables({ url, cluster, hosts })), ...watches]
}

/** Limits of one insert of a share. */
export function batchingOf({ sinkRowsMax, sinkShares }: Pick<Config, 'sinkRowsMax' | 'sinkShares'>) {
  return {
    rowsMax: sinkRowsMax,
    bytesMax: sinkShares === 1 ? INSERT_BYTES_MAX : SHARE_BYTES_MAX,
    aheadBytesMax: AHEAD_BYTES_MAX / sinkShares,
  }
}

/** Removes events from a store by their age. */
export function retention(context: ProcessContext, store: AgedStore): Service {
  const { clock, log } = context.telemetry
  return new Retention({ store, records: context.retentionRecords, clock, log })
}

/** One worker for each share of a sink. A worker inserts while this process holds its share. */
function sharedSink(context: ProcessContext, sink: Sink, lingerMs: number, shared: Map<string, Membership>): Service {
  const { sinkRowsMax, sinkShares, processName } = context.config
  const shares = sink.into.isUndivided ? 1 : sinkShares
  const batching = { ...batchingOf({ sinkRowsMax, sinkShares: shares }), lingerMs }
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
  const { group, from, into, completesJobs = false, observer } = sink
  const { clickhouseUrl, clickhouseCluster, partitions, own } = context.config
  const settings = ownValues(into.settings, own)
  const { log, clock } = context.telemetry
  const share = { number: reading.share?.number ?? 0, of: reading.share?.of ?? 1 }
  const client = context.connectLoop(group)
  context.workMetrics.sink(group)
  const source = new SinkStreams({
    blocking: context.connectBlocking(group),
    client,
    leases: context.leases,
    cluster: context.isCluster,
    partitions,
    group,
    from,
    completesJobs,
    // Events that another sink refuses are still stored, so they are not counted.
    outcomesTo: completesJobs ? context.pipeline.outcomes : undefined,
    ensureGroups: () => context.createGroups(),
    processName: context.config.processName,
    log,
    ...reading,
  })
  return new SinkWorker({
    group,
    source,
    inserter: into.open({ settings, clickhouseUrl, clickhouseCluster, archive: context.archiveLocation, share, log }),
    startsReady: completesJobs,
    ...batching,
    log,
    observe: observer?.open({ store: client, clock }),
    onInserted: (rows, durationMs) => {
      context.workMetrics.inserted(group, rows, durationMs)
      if (completesJobs) context.recent.did('stored', rows)
    },
    onInsertFailed: () => context.workMetrics.insertFailed(group),
    onRefused: (rows, kind) => context.workMetrics.refused(group, rows, kind),
  })
}
