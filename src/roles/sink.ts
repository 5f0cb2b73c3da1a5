import type { Sink } from '../core/pipeline/pipeline.ts'
import type { Service } from '../core/run/service.ts'
import { SinkStreams } from '../redis/streams/sink-streams.ts'
import { SinkWorker } from '../runner/sink-worker.ts'
import type { Parts } from './parts.ts'

/** Moves what the steps kept to the destinations. Ready when the one is that completes jobs: analysts can ask at once. */
export function sinkRole(parts: Parts): Service[] {
  return parts.pipeline.sinks.filter(({ takes = 'rows' }) => takes === 'rows').map((sink) => sinkWorker(parts, sink))
}

function sinkWorker(parts: Parts, { group, from, into, completesJobs = false, lingerMs }: Sink): SinkWorker {
  const { clickhouseUrl, partitions, sinkRowsMax, sinkLingerMs } = parts.config
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
  })
  return new SinkWorker({
    group,
    source,
    inserter: into.open({ clickhouseUrl, archive: parts.archivePlace, log }),
    startsReady: completesJobs,
    rowsMax: sinkRowsMax,
    lingerMs: lingerMs ?? sinkLingerMs,
    log,
    onInserted: (rows, durationMs) => parts.workMetrics.inserted(group, rows, durationMs),
  })
}
