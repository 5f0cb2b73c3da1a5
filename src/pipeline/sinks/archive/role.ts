import { AgedArchive } from '../../../operations/retention/aged-archive.ts'
import type { ProcessContext } from '../../../process/context.ts'
import type { Service } from '../../../run/service.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { retention, sinkWorker } from '../role.ts'
import { openObjectStore } from './destination.ts'

/** Entries per read: 16 MiB if all are full blocks of 256 KiB. */
const READ_ENTRIES_MAX = 64
/** Pause between reads while a part gathers. Longer than for rows, because parts may be late. */
const POLL_MS = 500
/** A read of this many events suggests a backlog. */
const BACKLOG_EVENTS = 8

/** Writes payloads to object storage, in one process at a time. */
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
