import type { Sink } from '../core/pipeline/pipeline.ts'
import type { Service } from '../core/run/service.ts'
import { SinkStreams } from '../redis/streams/sink-streams.ts'
import { SinkWorker } from '../runner/sink-worker.ts'
import type { Parts } from './parts.ts'

/** New entries of one read: with blocks of a full 256 KiB, 16 MiB. */
const READ_ENTRIES_MAX = 64
/** How often it looks what has come, while a part is open; nobody waits for it. */
const POLL_MS = 500
/** Behind so many events in one read there are more. */
const BACKLOG_EVENTS = 8

/** Moves events as they came to object storage. One owner at a time; while nobody has an archive it only waits. */
export function archiveRole(parts: Parts): Service[] {
  return parts.pipeline.sinks.filter(({ takes }) => takes === 'payloads').map((sink) => archiver(parts, sink))
}

function archiver(parts: Parts, { group, from, into, completesJobs = false }: Sink): SinkWorker {
  const { clickhouseUrl, partitions, archivePartBytes, archivePartAgeMs } = parts.config
  const { log } = parts.telemetry
  const source = new SinkStreams({
    blocking: parts.connectLoop(`${group}-blocking`),
    client: parts.connectLoop(group),
    cluster: parts.isCluster,
    partitions,
    group,
    from,
    completesJobs,
    outcomesTo: undefined,
    ensureGroups: () => parts.createGroups(),
    readEntriesMax: READ_ENTRIES_MAX,
    clusterPollMs: POLL_MS,
  })
  return new SinkWorker({
    group,
    source,
    inserter: into.open({ clickhouseUrl, archive: parts.archivePlace, log }),
    startsReady: completesJobs,
    rowsMax: parts.limits.partEventsMax,
    bytesMax: archivePartBytes,
    lingerMs: 0,
    gatherMs: archivePartAgeMs,
    pollMs: POLL_MS,
    backlogRows: BACKLOG_EVENTS,
    log,
    onInserted: (rows, durationMs) => parts.workMetrics.inserted(group, rows, durationMs),
  })
}
