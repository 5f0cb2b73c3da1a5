import type { Config } from '../../config/config.ts'
import { ownValues } from '../../config/setting.ts'
import { ClickHouseAgedTables } from '../../operations/retention/aged-tables.ts'
import type { AgedStore } from '../../operations/retention/ports.ts'
import { Retention } from '../../operations/retention/service.ts'
import { createClickHouseMetrics, createShareMetrics } from '../../operations/status/metrics.ts'
import { clickhouseStatus, damageWatch } from '../../operations/status/role.ts'
import type { Parts } from '../../process/context.ts'
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
export function sinkRole(parts: Parts): Service[] {
  const { sinkLingerMs, clickhouseUrl, clickhouseCluster: cluster } = parts.config
  createClickHouseMetrics(parts.telemetry.metrics, () => clickhouseStatus(clickhouseUrl))
  const shared = new Map<string, Membership>()
  const gathering = gatheringOf(parts.config)
  const workers = parts.pipeline.sinks
    .filter(({ takes = 'rows' }) => takes === 'rows')
    .map((sink) => sharedSink(parts, sink, { ...gathering, lingerMs: sink.lingerMs ?? sinkLingerMs }, shared))
  if (shared.size > 0) createShareMetrics(parts.telemetry.metrics, shared)
  // Behind the sinks, which bring the schema up to date. Replicas replace each other's damaged parts.
  const watches = [quotaWatch(parts), ...(cluster === undefined ? [damageWatch(parts)] : [])]
  return [...workers, retention(parts, new ClickHouseAgedTables(clickhouseUrl, cluster)), ...watches]
}

/** What a share of a sink inserts at once, however large rows are. */
export function gatheringOf({ sinkRowsMax, sinkShares }: Pick<Config, 'sinkRowsMax' | 'sinkShares'>) {
  return {
    rowsMax: sinkRowsMax,
    bytesMax: sinkShares === 1 ? INSERT_BYTES_MAX : SHARE_BYTES_MAX,
    aheadBytesMax: AHEAD_BYTES_MAX / sinkShares,
  }
}

/** Sees to it that events leave a store by their age. */
export function retention(parts: Parts, store: AgedStore): Service {
  const { clock, log } = parts.telemetry
  return new Retention({ store, records: parts.retentionRecords, clock, log })
}

/** A worker for each share of a sink, of which those insert whose shares this process holds. */
function sharedSink(
  parts: Parts,
  sink: Sink,
  gathering: InsertBatcherOptions,
  shared: Map<string, Membership>,
): Service {
  const { sinkShares: shares, place } = parts.config
  if (shares === 1) return sinkWorker(parts, sink, gathering)
  const { group } = sink
  const membership = sinkMembership({ client: parts.leases, group, shares, place, log: parts.telemetry.log })
  shared.set(group, membership)
  const workers = Array.from({ length: shares }, (_, number) =>
    sinkWorker(parts, sink, gathering, { share: membership.share(number) }),
  )
  return {
    name: `sink ${group}`,
    start: async () => void (await Promise.all(workers.map((worker) => worker.start()))),
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
  }
}

/** The worker of a sink, with connections of its own. */
export function sinkWorker(
  parts: Parts,
  sink: Sink,
  gathering: InsertBatcherOptions,
  reading: Reading = {},
): SinkWorker {
  const { group, from, into, completesJobs = false } = sink
  const { clickhouseUrl, clickhouseCluster, partitions, own } = parts.config
  const settings = ownValues(into.settings, own)
  const { log } = parts.telemetry
  parts.workMetrics.sink(group)
  const source = new SinkStreams({
    blocking: parts.connectBlocking(group),
    client: parts.connectLoop(group),
    leases: parts.leases,
    cluster: parts.isCluster,
    partitions,
    group,
    from,
    completesJobs,
    // What another sink refuses is stored all the same.
    outcomesTo: completesJobs ? parts.pipeline.outcomes : undefined,
    ensureGroups: () => parts.createGroups(),
    place: parts.config.place,
    log,
    ...reading,
  })
  return new SinkWorker({
    group,
    source,
    inserter: into.open({ settings, clickhouseUrl, clickhouseCluster, archive: parts.archivePlace, log }),
    startsReady: completesJobs,
    ...gathering,
    log,
    onInserted: (rows, durationMs) => {
      parts.workMetrics.inserted(group, rows, durationMs)
      if (completesJobs) parts.recent.did('stored', rows)
    },
    onInsertFailed: () => parts.workMetrics.insertFailed(group),
    onRefused: (rows, kind) => parts.workMetrics.refused(group, rows, kind),
  })
}
