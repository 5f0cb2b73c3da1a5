import { once } from 'node:events'
import { join } from 'node:path'
import { version } from '../../config/version.ts'
import { openObjectStore } from '../../pipeline/sinks/archive/destination.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import { Membership } from '../../stores/redis/membership.ts'
import { rewriteLease } from '../../stores/redis/rewrite-lease.ts'
import { writeBackup } from './backup.ts'
import { createBackupMetrics } from './metrics.ts'
import { BackupPlace } from './place.ts'
import { Progress } from './progress.ts'
import { RedisRecordSource } from './redis/record-source.ts'
import { backupInstance, readSchedule } from './redis/schedule-store.ts'
import { assertRoom, noScheduledBackups, ScheduledBackups } from './scheduled.ts'
import { backupStatus } from './status.ts'
import { ClickHouseTables } from './table-copies.ts'

/** How long a backup waits until all received events are stored, as the command does by default. */
const WAIT_MS = 600_000

/** Writes scheduled backups, in one of the processes that have it. With the role `archive`, which writes to object storage too. */
export function backupRole(context: ProcessContext): Service[] {
  const { config, telemetry, leases, pipeline } = context
  const { backupUrl, backupEvery, backupAt, backupKeep, processName } = config
  const { clickhouseUrl: url, clickhouseCluster: cluster, clickhouseHosts: hosts } = config
  const { log, clock, metrics } = telemetry
  const redis = context.connectLoop('backups')
  const place = backupUrl === undefined ? undefined : new BackupPlace(backupUrl)
  const read = () => readSchedule(redis)
  const measures = createBackupMetrics(metrics, async () => backupStatus(await read(), clock.now()))
  const lease = new Membership({ client: leases, name: 'backups', processName, log }).share(0)
  if (place === undefined) return [noScheduledBackups({ lease, read, log })]
  const archive = openObjectStore(context.archiveLocation)
  const withTables = async <T>(use: (tables: ClickHouseTables) => Promise<T>): Promise<T> => {
    const tables = new ClickHouseTables({ url, cluster, hosts }, log)
    try {
      return await use(tables)
    } finally {
      await tables.close()
    }
  }
  const backups = new ScheduledBackups({
    ...{ lease, read, place, clock, log },
    rewriting: rewriteLease({ client: leases, processName, log }),
    instance: () => backupInstance(redis),
    areMigrated: () => withTables((tables) => tables.areMigrated()),
    schedule: { every: backupEvery, at: backupAt, keep: backupKeep },
    async write(dir, mayGoOn, signal) {
      // A stop does not wait until all received events are stored.
      const stopped = once(signal, 'abort').then(() => {
        throw new Error('this process stops')
      })
      return await withTables((tables) => {
        const writing = writeBackup(dir, {
          ...{ tables, clock, waitMs: WAIT_MS, mayGoOn, version: version() },
          records: new RedisRecordSource(redis, pipeline, clock),
          archive: { place: archive.location, list: () => archive.list('') },
          progress: new Progress((line) => log.debug({ step: line }, 'a backup is being written')),
        })
        return Promise.race([writing, stopped])
      })
    },
    spoolDir: join(config.dataDir, 'backup-spool'),
    assertRoom,
    onAttempt: (result) => measures.attempted(result),
  })
  const stores: Service = {
    name: 'stores of backups',
    start: async () => {},
    stop: async () => {
      await archive.close()
      await place.close()
    },
  }
  return [stores, backups]
}
