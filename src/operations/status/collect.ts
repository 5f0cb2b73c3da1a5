import type { GroupStatus, PipelineStatus } from '../../pipeline/declaration/status.ts'
import { causeText } from '../../run/cause-text.ts'
import { compareTexts } from '../../run/compare-texts.ts'
import { wrongClocks } from './clocks.ts'
import { isFresh, type ReadReport } from './redis/reports.ts'
import { oldestWork, type StallLimits } from './stall.ts'
import type {
  BackupStatus,
  ClickHouseStatus,
  ClockStatus,
  DamageStatus,
  DataSetStatus,
  DaysStatus,
  DedupStatus,
  DiskStatus,
  ExportsStatus,
  GroupWaiting,
  InsertStatus,
  JobsStatus,
  LastMinute,
  LoggedProblem,
  ProcessReport,
  QuotaStatus,
  RedisStatus,
  ReenrichmentsStatus,
  SystemStatus,
} from './system-status.ts'
import { verdictOf } from './verdict.ts'

/** Reads the parts of a status. When a call rejects, its part is unknown. */
export interface StatusSources {
  pipeline(): Promise<PipelineStatus>
  batchJobs(): Promise<JobsStatus>
  bulkJobs(): Promise<JobsStatus>
  /** Undefined: there are none. */
  reenrichments?(): Promise<ReenrichmentsStatus>
  /** Undefined: there are none. */
  exports?(): Promise<ExportsStatus>
  /** Undefined or null: unknown. */
  days?(): Promise<DaysStatus | null>
  /** Undefined or null: they are off. */
  backup?(): Promise<BackupStatus | null>
  redis(): Promise<RedisStatus>
  dedup(): Promise<DedupStatus>
  /** Undefined: the URL is unknown. */
  clickhouse?(): Promise<ClickHouseStatus>
  quotas?(): Promise<QuotaStatus>
  /** Also those of processes that do not report any more, for the verdict. */
  reports(): Promise<readonly ReadReport[]>
  retention(): Promise<SystemStatus['retention']>
  damage(): Promise<DamageStatus>
  /** The machine that reads, for its clock and its disk. */
  readonly reader: { readonly host: string; readonly disk: ProcessReport['disk'] }
}

/** The sources while Redis cannot be reached: only ClickHouse is asked. */
export function withoutRedis({ clickhouse, reader }: StatusSources, reason: Error): StatusSources {
  const unread = () => Promise.reject(reason)
  return {
    ...{ pipeline: unread, batchJobs: unread, bulkJobs: unread, redis: unread, dedup: unread, reports: unread },
    ...{ retention: unread, damage: unread, reader },
    ...(clickhouse && { clickhouse }),
  }
}

const ERRORS_MAX = 20

/** Reads all parts concurrently, in a bounded number of small calls. Never rejects when a part does. */
export async function collectStatus(
  sources: StatusSources,
  limits: StallLimits,
  nowMs = Date.now(),
): Promise<SystemStatus> {
  const unknown: string[] = []
  const part = async <T>(name: string, read: (() => Promise<T>) | undefined, none: T): Promise<T> => {
    try {
      return read === undefined ? none : await read()
    } catch (error) {
      unknown.push(`${name}: ${causeText(error)}`)
      return none
    }
  }
  const [
    pipeline,
    batchJobs,
    bulkJobs,
    reenrichments,
    exports,
    backup,
    days,
    redis,
    dedup,
    clickhouse,
    quotas,
    allReports,
    retention,
    damage,
  ] = await Promise.all([
    part<PipelineStatus>('streams', () => sources.pipeline(), { streams: [], dead_letters: 0 }),
    part('batch jobs', () => sources.batchJobs(), NO_JOBS),
    part('bulk jobs', () => sources.bulkJobs(), NO_JOBS),
    part('reenrichment jobs', sources.reenrichments && (() => sources.reenrichments!()), NO_REENRICHMENTS),
    part('exports', sources.exports && (() => sources.exports!()), NO_EXPORTS),
    part<BackupStatus | null>('backups', sources.backup && (() => sources.backup!()), null),
    part<DaysStatus | null>('days', sources.days && (() => sources.days!()), null),
    part<RedisStatus | null>('Redis', () => sources.redis(), null),
    part<DedupStatus | null>('dedup window', () => sources.dedup(), null),
    part<ClickHouseStatus | null>('ClickHouse', sources.clickhouse && (() => sources.clickhouse!()), null),
    part<QuotaStatus | null>('quotas', sources.quotas && (() => sources.quotas!()), null),
    part<readonly ReadReport[]>('processes', () => sources.reports(), []),
    part('retention', () => sources.retention(), []),
    part<DamageStatus>('damage', () => sources.damage(), { parts: [], archived_tenants: [] }),
  ])
  const waiting = waitingOf(pipeline.streams)
  const reports = allReports.filter(isFresh)
  const silent = allReports.filter((report) => !isFresh(report)).sort((a, b) => a.age_ms - b.age_ms)
  const found = {
    at: new Date(nowMs).toISOString(),
    streams: pipeline.streams,
    dead_letters: pipeline.dead_letters,
    waiting,
    oldest: oldestWork(waiting, batchJobs, bulkJobs),
    batch_jobs: batchJobs,
    bulk_jobs: bulkJobs,
    reenrichments,
    exports,
    backup,
    days,
    last_minute: lastMinuteOf(reports),
    inserts: insertsOf(reports),
    redis,
    dedup,
    clickhouse,
    disks: disksOf(reports, sources.reader),
    clocks: clocksOf(reports, sources.reader.host, redis, clickhouse),
    quotas,
    data: dataOf(reports),
    processes: reports.flatMap(({ process }) => (process.roles.length > 0 ? [process] : [])).sort(byRoles),
    errors: errorsOf(reports),
    retention,
    damage,
    unknown,
  }
  return { ...found, verdict: verdictOf(found, silent, limits, nowMs) }
}

export const NO_REENRICHMENTS: ReenrichmentsStatus = { open: 0, jobs: [] }

export const NO_EXPORTS: ExportsStatus = { count: 0, failed: 0, late: 0, worst: [] }

export const NO_JOBS: JobsStatus = {
  ...{ uploading: 0, queued: 0, running: 0, lines: 0, lines_waiting: 0, oldest_ms: 0 },
  oldest_jobs: [],
}

/** Sums over the partitions, in their first order. */
export function waitingOf(streams: readonly GroupStatus[]): GroupWaiting[] {
  const found = new Map<string, GroupWaiting>()
  for (const { stream, group, lane, ...values } of streams) {
    const key = `${stream} ${group} ${lane}`
    const before = found.get(key)
    found.set(key, {
      ...{ stream, group, lane },
      lag_entries: values.lag_entries + (before?.lag_entries ?? 0),
      pending_entries: values.pending_entries + (before?.pending_entries ?? 0),
      events: values.waiting_events + (before?.events ?? 0),
      oldest_ms: Math.max(values.oldest_ms, before?.oldest_ms ?? 0),
    })
  }
  return [...found.values()]
}

export function lastMinuteOf(reports: readonly ProcessReport[]): LastMinute {
  const sum = (name: keyof LastMinute) => reports.reduce((total, report) => total + (report.last_minute[name] ?? 0), 0)
  return {
    ...{ live_events: sum('live_events'), batch_lines: sum('batch_lines'), processed: sum('processed') },
    ...{
      stored: sum('stored'),
      dead: sum('dead'),
      requests: sum('requests'),
      refused: sum('refused'),
      failed: sum('failed'),
    },
  }
}

/** The disks of all machines, each once. */
function disksOf(reports: readonly ProcessReport[], { host, disk }: StatusSources['reader']): DiskStatus[] {
  const found = new Map<string, DiskStatus>()
  const all = [...reports.map((report) => ({ host: report.process.host, disk: report.disk })), { host, disk }]
  for (const one of all)
    if (one.disk !== undefined) found.set(`${one.host} ${one.disk.path}`, { host: one.host, ...one.disk })
  return [...found.values()].sort((a, b) => compareTexts(a.host, b.host))
}

function clocksOf(
  reports: readonly ReadReport[],
  host: string,
  redis: RedisStatus | null,
  clickhouse: ClickHouseStatus | null,
): ClockStatus[] {
  const hereMs = -(redis?.clock_ahead_ms ?? 0)
  return wrongClocks([
    ...reports.map(({ process, skew_ms }) => ({ name: process.host, skew_ms })),
    ...(redis === null ? [] : [{ name: host, skew_ms: hereMs }]),
    ...(redis === null || clickhouse === null
      ? []
      : [{ name: 'ClickHouse', skew_ms: hereMs + clickhouse.clock_ahead_ms }]),
  ])
}

function insertsOf(reports: readonly ProcessReport[]): InsertStatus[] {
  const found = new Map<string, InsertStatus>()
  for (const one of reports.flatMap(({ inserts }) => inserts)) {
    const before = found.get(one.group)
    if (before === undefined) {
      found.set(one.group, one)
      continue
    }
    const inserts = one.inserts + before.inserts
    const totalMs = one.inserts * one.avg_ms + before.inserts * before.avg_ms
    found.set(one.group, {
      ...{ group: one.group, inserts, rows: one.rows + before.rows, failures: one.failures + before.failures },
      avg_ms: inserts === 0 ? 0 : Math.round(totalMs / inserts),
      max_ms: Math.max(one.max_ms, before.max_ms),
      refused: (one.refused ?? 0) + (before.refused ?? 0),
      refusal: one.refusal ?? before.refusal ?? null,
    })
  }
  return [...found.values()].sort((a, b) => compareTexts(a.group, b.group))
}

const BY_STATE: readonly DataSetStatus['state'][] = ['ok', 'replaced', 'waiting', 'ignored', 'stale', 'failed']

/** When processes report different states of a file, the worst one counts. */
function dataOf(reports: readonly ProcessReport[]): DataSetStatus[] {
  const found = new Map<string, DataSetStatus>()
  for (const set of reports.flatMap(({ data = [] }) => data)) {
    const before = found.get(set.name)
    if (before === undefined || BY_STATE.indexOf(set.state) > BY_STATE.indexOf(before.state)) found.set(set.name, set)
  }
  return [...found.values()].sort((a, b) => compareTexts(a.name, b.name))
}

function errorsOf(reports: readonly ProcessReport[]): LoggedProblem[] {
  const all = reports.flatMap(({ errors }) => errors)
  return all.sort((a, b) => compareTexts(b.at, a.at)).slice(0, ERRORS_MAX)
}

function byRoles(a: { readonly roles: readonly string[] }, b: { readonly roles: readonly string[] }): number {
  return compareTexts(a.roles.join(), b.roles.join())
}
