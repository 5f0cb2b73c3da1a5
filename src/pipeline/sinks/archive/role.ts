import { AgedArchive } from '../../../operations/retention/aged-archive.ts'
import type { ProcessContext } from '../../../process/context.ts'
import type { Service } from '../../../run/service.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { retention, sinkWorker } from '../role.ts'
import { openObjectStore } from './destination.ts'

/** New entries of one read: with blocks of a full 256 KiB, 16 MiB. */
const READ_ENTRIES_MAX = 64
/** How often it looks what has come, while a part is open; nobody waits for it. */
const POLL_MS = 500
/** Behind so many events in one read there are more. */
const BACKLOG_EVENTS = 8

/** Moves events as they came to object storage. One owner at a time; while nobody has an archive it only waits. */
export function archiveRole(context: ProcessContext): Service[] {
  const { archivePartBytes: bytesMax, archivePartAgeMs: gatherMs } = context.config
  const rowsMax = context.limits.partEventsMax
  const batching = { rowsMax, bytesMax, lingerMs: 0, gatherMs, pollMs: POLL_MS, backlogRows: BACKLOG_EVENTS }
  const reading = { readEntriesMax: READ_ENTRIES_MAX, clusterPollMs: POLL_MS }
  const workers = context.pipeline.sinks
    .filter(({ takes }) => takes === 'payloads')
    .map((sink) => sinkWorker(context, sink, batching, reading))
  const tenants = async () => Object.keys(await context.shared.hgetall(keys.tenants()))
  return [...workers, retention(context, new AgedArchive(openObjectStore(context.archiveLocation), tenants))]
}
