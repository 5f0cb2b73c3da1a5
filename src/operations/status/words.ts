import { numbered } from '../../run/counted.ts'
import type { BackupStatus, DamagedPart, DaysStatus, ExportsStatus } from './system-status.ts'

const EXPORTS_NAMED = 3
/** Longer than most backups take. `IpidBackupOld` in alerts.yml has the same time. */
export const BACKUP_LATE_MS = 7_200_000

/** A day is built within minutes. `IpidDaysStale` in alerts.yml has the same time. */
const DAYS_LATE_MS = 7_200_000

/** The command that restores a damaged part from the archive; undefined when the part has no days. */
export function replayLine(tenant: string, { from, to }: Pick<DamagedPart, 'from' | 'to'>): string | undefined {
  return from === null || to === null ? undefined : `./ipid replay --tenant ${tenant} --from ${from} --to ${to}`
}

/** `850 ms`, `12.3 s`, `4 min`, `2.5 h`, `3.1 d` */
export function ageText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 86_400_000) return `${(ms / 3_600_000).toFixed(1)} h`
  return `${(ms / 86_400_000).toFixed(1)} d`
}

/** `512 B`, `1.5 MiB` */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)))
  return `${(bytes / 1_024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}

/** Which exports fail or are late, in one line; undefined: none. */
export function exportsText({ failed, late, worst }: ExportsStatus): string | undefined {
  if (failed + late === 0) return undefined
  const names = worst.slice(0, EXPORTS_NAMED).map(({ tenant_id: tenant, name }) => `${name} of ${tenant}`)
  const others = failed + late - names.length
  const counts = [...(failed > 0 ? [`${failed} failed`] : []), ...(late > 0 ? [`${late} late`] : [])]
  return `${counts.join(', ')}: ${names.join(', ')}${others > 0 ? ` and ${numbered(others, 'other')}` : ''}`
}

/** The age and size of the last backup, in one line. */
export function backupText({ last, age_ms: ageMs, place, next_at: nextAt }: BackupStatus): string {
  const found =
    last === null || ageMs === null
      ? 'none yet'
      : `${ageText(ageMs)} old, ${bytesText(last.bytes)}, took ${ageText(last.took_ms)}: ${last.name}`
  return `${found} in ${place}; the next at ${nextAt}`
}

/** The problems of backups, in one line; undefined: none. */
export function backupProblem({ error, late_ms: lateMs, failures }: BackupStatus): string | undefined {
  if (error !== null) return `the last attempt failed (${numbered(failures, 'failure')}): ${error}`
  if (lateMs < BACKUP_LATE_MS) return undefined
  return `one is ${ageText(lateMs)} late: is a process with the role archive running?`
}

/** How many closed days are not summed up, in one line. */
export function daysText({ stale, oldest_since: since, waits }: DaysStatus): string {
  if (waits) return 'not summed up before ClickHouse has changed all stored events'
  if (stale === 0 || stale === null) return 'all are summed up'
  return `${numbered(stale, 'day')} of tenants not summed up${since === null ? '' : `, the first since ${since}`}`
}

/** Why days are not summed up, in one line; undefined: they are, or soon will be. */
export function daysProblem({ stale, oldest_ms: oldestMs, waits, failure }: DaysStatus): string | undefined {
  const effect = 'pages read their events, which is slow'
  if (waits && failure !== null)
    return `days are not summed up, because ClickHouse cannot change all stored events (${failure}): ${effect}`
  if (oldestMs < DAYS_LATE_MS) return undefined
  const count = stale === null ? 'days' : numbered(stale, 'day')
  return `${count} of tenants are not summed up, the first since ${ageText(oldestMs)}: ${effect}`
}
