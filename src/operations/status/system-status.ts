import type { Lane } from '../../pipeline/declaration/lane.ts'
import type { PipelineStatus } from '../../pipeline/declaration/status.ts'
import type { DiskSpace } from '../../run/free-space.ts'

/**
 * Status of the whole system; `ipid status --json` prints it. Ages are milliseconds, 0 when nothing waits. Times are ISO 8601,
 * UTC. Lists are bounded. A part that could not be read is null or empty, and `unknown` has the reason.
 */
export interface SystemStatus extends PipelineStatus {
  readonly at: string
  readonly verdict: Verdict
  /** `streams`, summed over the partitions. */
  readonly waiting: readonly GroupWaiting[]
  /** The oldest unfinished work; null when nothing waits. */
  readonly oldest: OldestWork | null
  readonly batch_jobs: JobsStatus
  readonly bulk_jobs: JobsStatus
  readonly reenrichments: ReenrichmentsStatus
  readonly exports: ExportsStatus
  /** Scheduled backups; null: they are off, or unknown. */
  readonly backup: BackupStatus | null
  /** Null: no sink has looked yet, or unknown. */
  readonly days: DaysStatus | null
  readonly last_minute: LastMinute
  /** Inserts of the last minute, by consumer group. */
  readonly inserts: readonly InsertStatus[]
  readonly redis: RedisStatus | null
  readonly dedup: DedupStatus | null
  readonly clickhouse: ClickHouseStatus | null
  /** Disks of `DATA_DIR`, of every machine. */
  readonly disks: readonly DiskStatus[]
  /** Clocks that differ from that of Redis by 20 s or more. */
  readonly clocks: readonly ClockStatus[]
  /** Null when unknown. */
  readonly quotas: QuotaStatus | null
  /** Ordered by name. */
  readonly data: readonly DataSetStatus[]
  readonly processes: readonly ProcessStatus[]
  /** Newest first. */
  readonly errors: readonly LoggedProblem[]
  /** The last retention run of each store. */
  readonly retention: readonly { readonly store: string; readonly at: string; readonly removed: number }[]
  /** Rows that ClickHouse lost. */
  readonly damage: DamageStatus
  /** For each part that could not be read: its name and the reason. */
  readonly unknown: readonly string[]
}

/**
 * The verdict on a status; `ipid status`, the page System, `GET /progress` and `ipid doctor` show the same one. `stalled`: events are not
 * taken, or accepted ones make no progress; `warning`: an operator should look; `ok` otherwise.
 */
export interface Verdict {
  readonly level: 'ok' | 'warning' | 'stalled'
  /** One line, with all facts. */
  readonly text: string
  /** The worst first; empty when it is ok. */
  readonly facts: readonly Fact[]
}

/** Something that an operator should know. */
export interface Fact {
  /** Stable, for programs. */
  readonly name: FactName
  readonly level: 'warning' | 'stalled'
  /** One line. */
  readonly text: string
}

export type FactName =
  | 'redis-down'
  | 'redis-refuses-writes'
  | 'redis-full'
  | 'redis-risk'
  | 'disk-full'
  | 'no-process'
  | 'role-missing'
  | 'events-stalled'
  | 'lines-stalled'
  | 'clickhouse-down'
  | 'requests-fail'
  | 'clock'
  | 'unknown'
  | 'tables-missing'
  | 'rows-lost'
  | 'inserts-fail'
  | 'rows-refused'
  | 'dead-letters'
  | 'exports'
  | 'backups'
  | 'days-stale'
  | 'data-set'
  | 'last-error'

/** Closed days whose numbers are not stored, or not right any more: pages read their events (src/days/README.md). */
export interface DaysStatus {
  /** Null: unknown while `waits` is true. */
  readonly stale: number | null
  /** When the first of them became stale. */
  readonly oldest_since: string | null
  readonly oldest_ms: number
  /** Whether days wait until ClickHouse has changed all stored events. */
  readonly waits: boolean
  /** Why it does not. */
  readonly failure: string | null
}

/** Backlog of a consumer group in a lane, summed over partitions. */
export interface GroupWaiting {
  readonly stream: string
  readonly group: string
  readonly lane: Lane
  readonly lag_entries: number
  readonly pending_entries: number
  readonly events: number
  readonly oldest_ms: number
}

export interface OldestWork {
  readonly age_ms: number
  /** A consumer group and its lane, or the kind of job. */
  readonly where: string
}

/** Unfinished jobs of all tenants. */
export interface JobsStatus {
  /** Uploads in progress. */
  readonly uploading: number
  readonly queued: number
  readonly running: number
  /** Lines, or addresses, of queued and running jobs. */
  readonly lines: number
  /** Lines not fed yet. Fed ones are in the streams. */
  readonly lines_waiting: number
  /** Age of the oldest job. */
  readonly oldest_ms: number
  /** The oldest jobs, at most 20. */
  readonly oldest_jobs: readonly OpenJobStatus[]
}

/** Jobs that apply rules to stored events, of all tenants. */
export interface ReenrichmentsStatus {
  readonly open: number
  /** The running job, then those that wait longest, at most 20. */
  readonly jobs: readonly OpenReenrichment[]
}

export interface OpenReenrichment {
  readonly job_id: string
  readonly tenant_id: string
  readonly status: 'waiting' | 'running'
  /** Done part, 0 to 1. */
  readonly share: number
  readonly changed_events: number
  /** Null when unknown. */
  readonly seconds_left: number | null
  readonly age_ms: number
  /** Why it is being tried again; null: it is not. */
  readonly problem: string | null
}

export interface OpenJobStatus {
  readonly job_id: string
  readonly tenant_id: string
  readonly status: 'queued' | 'running'
  readonly lines: number
  readonly lines_waiting: number
  readonly age_ms: number
}

/** Work of all processes in the last minute. */
export interface LastMinute {
  /** Accepted live events, including filtered ones and those with an invalid address. */
  readonly live_events: number
  /** Fed and rejected lines of batch jobs. */
  readonly batch_lines: number
  /** Events that the steps finished: kept, dropped or dead. */
  readonly processed: number
  /** Stored rows of events. */
  readonly stored: number
  /** New dead letters. */
  readonly dead: number
  readonly requests: number
  /** Requests answered with 429. */
  readonly refused: number
  /** Requests answered with 5xx other than 503, which probes get. */
  readonly failed: number
}

export interface InsertStatus {
  readonly group: string
  readonly inserts: number
  readonly rows: number
  readonly failures: number
  /** Refused rows that became dead letters. Undefined from earlier versions. */
  readonly refused?: number
  /** Latest reason of a refusal, in a few words; null: none. ipid tries the rows again; some become dead letters. */
  readonly refusal?: string | null
  /** Average duration, from start to acknowledgement. */
  readonly avg_ms: number
  readonly max_ms: number
}

/** Sums over all Redis masters; `used_share` is that of the fullest. */
export interface RedisStatus {
  readonly version: string
  readonly used_bytes: number
  /** 0: without a limit. */
  readonly max_bytes: number
  /** 0 to 1. */
  readonly used_share: number
  readonly evicts: boolean
  readonly append_only: boolean
  /** Why a Redis takes no writes now, in a few words; null: all take them. */
  readonly refuses_writes: string | null
  /** How far its clock is ahead of this machine's; negative: late. The worst of several masters. */
  readonly clock_ahead_ms: number
  /** With Sentinel. */
  readonly sentinel?: SentinelStatus
  /** With `waitReplicas` in REDIS_URL, and without Sentinel. */
  readonly replication?: ReplicationStatus
}

/** The copies of a master's writes. */
export interface ReplicationStatus {
  /** Replicas that are connected and have caught up; on a Redis Cluster, those of the master with the fewest. */
  readonly replicas: number
  /** `waitReplicas` of REDIS_URL. */
  readonly wait_replicas: number
}

/** The master that Sentinel names, and the copies of its writes. */
export interface SentinelStatus extends ReplicationStatus {
  /** `host:port` of the server in use. */
  readonly master: string
  /** Whether Redis refuses writes without replicas: `min-replicas-to-write`. */
  readonly refuses_alone: boolean
}

/** Size of the dedup window, summed over partitions. */
export interface DedupStatus {
  readonly entries: number
  /** Estimated. */
  readonly bytes: number
}

export interface ClickHouseStatus {
  readonly version: string
  readonly memory_bytes: number
  /** 0: without a limit. */
  readonly memory_max_bytes: number
  /** How far its clock is ahead of this machine's; negative: late. */
  readonly clock_ahead_ms: number
  /** Missing tables and views of the schema. */
  readonly missing_tables: readonly string[]
}

/** The disk of a folder. */
export interface DiskStatus extends DiskSpace {
  readonly host: string
  readonly path: string
}

export interface ClockStatus {
  /** The owner of the clock, in words. */
  readonly name: string
  /** How far it is ahead of Redis'; negative: late. */
  readonly skew_ms: number
}

/** Damaged parts with missing rows, until an operator drops them. */
export interface DamageStatus {
  readonly parts: readonly DamagedPart[]
  /** Tenants whose archive may have their events, at most 20; empty while nothing is missing. */
  readonly archived_tenants: readonly string[]
}

/** A part of a table that ClickHouse could not read at its start, and has detached. */
export interface DamagedPart {
  readonly table: string
  /** Name in `system.detached_parts`. */
  readonly name: string
  /** Null when unknown. */
  readonly rows: number | null
  /** First and last UTC day of receipt; null for a table that has none. */
  readonly from: string | null
  readonly to: string | null
  readonly found_at: string
  /** False: other parts have its rows. */
  readonly missing: boolean
}

/** Use of quotas. The quota of accounts is never enforced. */
export interface QuotaStatus {
  /** Number of tenants that used up daily lookups, or passed their monthly accounts. */
  readonly passed: { readonly daily_lookups: number; readonly monthly_accounts: number }
  /** For each quota, the 20 tenants with the highest use relative to their limit. */
  readonly highest: readonly QuotaUse[]
}

export interface QuotaUse {
  readonly tenant_id: string
  readonly quota: 'daily_lookups' | 'monthly_accounts'
  /** In this UTC day or month. */
  readonly used: number
  readonly limit: number
  /** For accounts: receipt of the first event of the company beyond the limit; else null. */
  readonly passed_at: string | null
}

/** Scheduled exports of all tenants. */
export interface ExportsStatus {
  readonly count: number
  /** Exports that are on and whose last attempt failed. */
  readonly failed: number
  /** Others whose file is missing 15 minutes after it was due or requested. */
  readonly late: number
  /** Failed and late ones, at most 20. */
  readonly worst: readonly ExportProblem[]
}

export interface ExportProblem {
  readonly tenant_id: string
  readonly name: string
  /** When the missing file was due or requested; null: only a requested one failed. */
  readonly open_since: string | null
  /** Failed attempts since the last file. */
  readonly failures: number
  /** Why the last attempt failed; null: it is late. */
  readonly error: string | null
}

/** Scheduled backups. */
export interface BackupStatus {
  /** The folder or bucket. */
  readonly place: string
  readonly every: 'day' | 'week'
  /** HH:MM, UTC. */
  readonly at: string
  /** The last whole one; null: there is none yet. */
  readonly last: {
    readonly name: string
    readonly at: string
    readonly took_ms: number
    readonly bytes: number
  } | null
  /** Age of the last one. */
  readonly age_ms: number | null
  /** Since when one is due that is not whole yet; null: none is. */
  readonly missing_since: string | null
  /** Time since then; 0: none is missing. */
  readonly late_ms: number
  readonly next_at: string
  /** Failed attempts since the last one. */
  readonly failures: number
  /** Why the last attempt failed; null: it did not. */
  readonly error: string | null
}

/** A file of enrichment data. */
export interface DataSetStatus {
  readonly name: string
  /**
   * `replaced`: newer data of its kind are in use; `waiting`: not read or compiled yet; `stale`: a newer version was refused;
   * `failed`: cannot be read; `ignored`: not enrichment data.
   */
  readonly state: 'ok' | 'replaced' | 'waiting' | 'stale' | 'failed' | 'ignored'
  /** Explains any state but `ok`, or why the data add nothing. */
  readonly reason: string | null
  /** Recognised kind; null: none. Undefined from earlier versions. */
  readonly recognised_as?: string | null
  readonly records: number
  /** From the file; null when it has no date. */
  readonly built_at: string | null
  /** Whole days since then. */
  readonly age_days: number | null
  /** Older than 90 days, although a configured source has newer data. */
  readonly too_old: boolean
  /** If older than 90 days: a known source of newer data that is not configured. */
  readonly newer?: string | null
}

/** A process with a recent report. */
export interface ProcessStatus {
  readonly roles: readonly string[]
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly started_at: string
  readonly told_at: string
}

/** A warning or error of a process's log. Repetitions count in `times`. */
export interface LoggedProblem {
  readonly at: string
  readonly level: 'warn' | 'error' | 'fatal'
  readonly process: string
  readonly message: string
  readonly times: number
}

/** Report of a process, every few seconds. Names no tenant, because the deletion of a tenant does not search reports. */
export interface ProcessReport {
  /** Unique for each start of a process. */
  readonly id: string
  /** Without roles it is the supervisor: a status shows only its problems. */
  readonly process: ProcessStatus
  readonly last_minute: Partial<LastMinute>
  /** The disk of its `DATA_DIR`. Undefined from earlier versions. */
  readonly disk?: DiskSpace & { readonly path: string }
  readonly inserts: readonly InsertStatus[]
  /** Undefined: the process holds no enrichment data. */
  readonly data?: readonly DataSetStatus[]
  readonly errors: readonly LoggedProblem[]
}
