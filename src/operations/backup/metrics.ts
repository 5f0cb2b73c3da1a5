import { Counter, type Registry } from 'prom-client'
import { gaugesOf, QUICK_READ } from '../status/metrics.ts'
import { sharedRead } from '../status/shared-read.ts'
import type { BackupStatus } from '../status/system-status.ts'

interface BackupMetrics {
  /** Counts an attempt to write a scheduled backup. */
  attempted(result: 'done' | 'failed'): void
}

/** Metrics of scheduled backups. @param read null: they are off, and the gauges are absent */
export function createBackupMetrics(registry: Registry, read: () => Promise<BackupStatus | null>): BackupMetrics {
  const attempts = new Counter({
    name: 'ipid_backup_attempts_total',
    help: 'Attempts to write a scheduled backup, by result: done or failed (tried again later)',
    labelNames: ['result'],
    registers: [registry],
  })
  for (const result of ['done', 'failed']) attempts.inc({ result }, 0)
  const status = sharedRead(read, { ...QUICK_READ, freshMs: 14_000 })
  const gauge = gaugesOf(registry)
  const value = (name: string, help: string, numberOf: (found: BackupStatus) => number | undefined) =>
    gauge(name, help, [], async (set) => {
      const found = await status()
      const number = found === null ? undefined : numberOf(found)
      // The scrape of `gaugesOf` leaves a gauge out when this throws.
      if (number === undefined) throw new Error('no value')
      set({}, number)
    })
  value('ipid_backup_timestamp_seconds', 'When the last scheduled backup was complete, Unix seconds', ({ last }) =>
    last === null ? undefined : Date.parse(last.at) / 1_000,
  )
  value('ipid_backup_bytes', 'Size of the last scheduled backup', ({ last }) => last?.bytes)
  value(
    'ipid_backup_late_seconds',
    'How long a scheduled backup has been due without a whole one; 0: none is',
    ({ late_ms: lateMs }) => lateMs / 1_000,
  )
  return { attempted: (result) => attempts.inc({ result }) }
}
