import { ClickHouseAgedTables } from '../clickhouse/aged-tables.ts'
import type { Sink } from '../core/pipeline/pipeline.ts'
import type { Service } from '../core/run/service.ts'
import { SinkStreams, type SinkStreamsOptions } from '../redis/streams/sink-streams.ts'
import type { AgedStore } from '../retention/ports.ts'
import { Retention } from '../retention/service.ts'
import { SinkWorker, type SinkWorkerOptions } from '../runner/sink-worker.ts'
import { createClickHouseMetrics } from '../status/metrics.ts'
import type { Parts } from './parts.ts'
import { quotaWatch } from './quotas.ts'
import { clickhouseMemory, damageWatch } from './status.ts'

/** How a sink gathers what it inserts at once. */
type Gathering = Pick<SinkWorkerOptions, 'rowsMax' | 'bytesMax' | 'lingerMs' | 'gatherMs' | 'pollMs' | 'backlogRows'>

/** How a sink reads its stream; default: as suits rows. */
type Reading = Pick<SinkStreamsOptions, 'readEntriesMax' | 'clusterPollMs'>

/** Moves what the steps kept to the destinations. Ready when the one is that completes jobs: analysts can ask at once. */
export function sinkRole(parts: Parts): Service[] {
  const { sinkRowsMax: rowsMax, sinkLingerMs, clickhouseUrl, clickhouseCluster: cluster } = parts.config
  createClickHouseMetrics(parts.telemetry.metrics, () => clickhouseMemory(clickhouseUrl))
  const workers = parts.pipeline.sinks
    .filter(({ takes = 'rows' }) => takes === 'rows')
    .map((sink) => sinkWorker(parts, sink, { rowsMax, lingerMs: sink.lingerMs ?? sinkLingerMs }))
  // Behind the sinks, which bring the schema up to date. Replicas replace each other's damaged parts.
  const watches = [quotaWatch(parts), ...(cluster === undefined ? [damageWatch(parts)] : [])]
  return [...workers, retention(parts, new ClickHouseAgedTables(clickhouseUrl, cluster)), ...watches]
}

/** Sees to it that events leave a store by their age. */
export function retention(parts: Parts, store: AgedStore): Service {
  const { clock, log } = parts.telemetry
  return new Retention({ store, records: parts.retentionRecords, clock, log })
}

/** The worker of a sink, with connections of its own. */
export function sinkWorker(parts: Parts, sink: Sink, gathering: Gathering, reading: Reading = {}): SinkWorker {
  const { group, from, into, completesJobs = false } = sink
  const { clickhouseUrl, clickhouseCluster, partitions } = parts.config
  const { log } = parts.telemetry
  const source = new SinkStreams({
    blocking: parts.connectLoop(`${group}-blocking`),
    client: parts.connectLoop(group),
    cluster: parts.isCluster,
    partitions,
    group,
    from,
    completesJobs,
    // What another sink refuses is stored all the same.
    outcomesTo: completesJobs ? parts.pipeline.outcomes : undefined,
    ensureGroups: () => parts.createGroups(),
    place: parts.config.place,
    ...reading,
  })
  return new SinkWorker({
    group,
    source,
    inserter: into.open({ clickhouseUrl, clickhouseCluster, archive: parts.archivePlace, log }),
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
