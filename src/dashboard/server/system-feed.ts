import type { DataUpdate, SystemAnswer } from '../../../schemas/dashboard/system.ts'
import type { SystemStatus } from '../../operations/status/system-status.ts'
import { Loop } from '../../run/loop.ts'
import { eventText } from './event-streams.ts'
import { SharedFeed } from './shared-feed.ts'

interface SystemSource {
  /** May reject: it is called again. */
  read(): Promise<SystemStatus>
  /** Attribution that the licence of a data set requires; undefined: unknown. */
  attributionOf(dataSet: string): string | undefined
  /** State of the data update. @param hosts of all processes */
  dataUpdate(hosts: readonly string[]): Promise<DataUpdate | null>
}

const EVERY_MS = 2_000
const DELAY = { minMs: 1_000, maxMs: 10_000 }

/** Reads the status every 2 s while a page shows it, once for all pages: events `status`, see `SystemAnswer`. */
export function systemFeed(source: SystemSource): SharedFeed {
  return new SharedFeed(({ send }) => {
    const loop = new Loop({
      name: 'system status',
      round: async () => {
        send(eventText('status', await answerOf(await source.read(), source)))
        return EVERY_MS
      },
      // The page shows the age of its data.
      failed: () => {},
      delay: DELAY,
      unref: true,
    })
    void loop.start()
    return () => void loop.stop()
  }, true)
}

async function answerOf(status: SystemStatus, { attributionOf, dataUpdate }: SystemSource): Promise<SystemAnswer> {
  const { at, verdict, waiting, oldest, dead_letters, batch_jobs, bulk_jobs, exports, last_minute, inserts } = status
  const { backup, days, redis, dedup, quotas, clickhouse, data, processes, errors, unknown } = status
  return {
    ...{ at, verdict, waiting: [...waiting], oldest, dead_letters, last_minute, inserts: [...inserts] },
    batch_jobs: { ...batch_jobs, oldest_jobs: [...batch_jobs.oldest_jobs] },
    bulk_jobs: { ...bulk_jobs, oldest_jobs: [...bulk_jobs.oldest_jobs] },
    exports: { ...exports, worst: [...exports.worst] },
    ...{ backup, days, redis, dedup, clickhouse, quotas: quotas && [...quotas.highest] },
    data: data.map((set) => ({
      ...set,
      recognised_as: set.recognised_as ?? null,
      newer: set.newer ?? null,
      attribution: attributionOf(set.name) ?? null,
    })),
    data_update: await dataUpdate(processes.map(({ host }) => host)),
    processes: processes.map((process) => ({ ...process, roles: [...process.roles] })),
    errors: [...errors],
    unknown: [...unknown],
  }
}
