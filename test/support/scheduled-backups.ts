import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { writeBackup } from '../../src/operations/backup/backup.ts'
import { BackupPlace } from '../../src/operations/backup/place.ts'
import type { RecordSource, TableSource } from '../../src/operations/backup/ports.ts'
import { Progress } from '../../src/operations/backup/progress.ts'
import { backupInstance, readSchedule } from '../../src/operations/backup/redis/schedule-store.ts'
import { type BackupSchedule, noScheduledBackups, ScheduledBackups } from '../../src/operations/backup/scheduled.ts'
import type { ArchiveLocation } from '../../src/pipeline/declaration/destination.ts'
import { openObjectStore } from '../../src/pipeline/sinks/archive/destination.ts'
import type { ObjectStore } from '../../src/stores/objects/object-store.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { rewriteLease } from '../../src/stores/redis/rewrite-lease.ts'
import { silent } from './pipeline.ts'
import type { handClock } from './tenants.ts'

interface Parts {
  readonly client: RedisClient
  readonly folder: string
  readonly clock: ReturnType<typeof handClock>
  readonly schedule?: Partial<BackupSchedule>
  /** False: backups are off. */
  readonly on?: boolean
  readonly store?: ObjectStore
  /** Place of the backups. Default: `folder/backups`. */
  readonly location?: ArchiveLocation
  /** Called before a row is written. */
  readonly onRow?: () => Promise<void>
  /** Bytes of the row. */
  readonly rowBytes?: number
  readonly assertRoom?: (spoolDir: string) => void
  readonly areMigrated?: () => Promise<boolean>
}

async function* none() {}

/** Scheduled backups of a table with one row. */
export function scheduledBackups({
  client,
  folder,
  clock,
  schedule,
  on = true,
  store,
  location = { folder: join(folder, 'backups') },
  onRow,
  rowBytes = 1,
  assertRoom = () => {},
  areMigrated = async () => true,
}: Parts) {
  const tables = {
    migrations: async () => [],
    tables: async () => [{ table: 'own', columns: ['a'], create: 'CREATE' }],
    async *rows() {
      await onRow?.()
      // Random, so that gzip does not shrink it much.
      yield Buffer.from(`${randomBytes(rowBytes).toString('hex')}\n`)
    },
  } satisfies TableSource
  const records: RecordSource = {
    partitions: async () => 1,
    partitionsSinceMs: async () => 0,
    untilStored: async () => {},
    tenants: none,
    pulls: none,
    letters: none,
  }
  const lease = new Membership({ client, name: 'backups' }).share(0)
  const read = () => readSchedule(client)
  if (!on) return noScheduledBackups({ lease, read, log: silent })
  return new ScheduledBackups({
    ...{ lease, read, clock, log: silent },
    rewriting: rewriteLease({ client }),
    instance: () => backupInstance(client),
    place: new BackupPlace(location, store ?? openObjectStore(location)),
    schedule: { every: 'day', at: '03:00', keep: 2, ...schedule },
    write: (dir, mayGoOn) =>
      writeBackup(dir, {
        ...{ tables, records, version: '1', clock, mayGoOn, waitMs: 1, progress: new Progress(() => {}) },
        archive: { place: 'none', list: none },
      }),
    spoolDir: join(folder, 'spool'),
    ...{ assertRoom, areMigrated },
  })
}
