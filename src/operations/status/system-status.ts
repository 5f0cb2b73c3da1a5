import type { Lane } from '../../pipeline/declaration/lane.ts'
import type { PipelineStatus } from '../../pipeline/declaration/status.ts'

/**
 * All that an operator looks at, at one moment: `ipid status --json` prints it as it is. Ages are milliseconds, 0 when
 * nothing waits; times are ISO 8601, UTC. Lists are bounded; what could not be read is null or empty, and named in
 * `unknown`.
 */
export interface SystemStatus extends PipelineStatus {
  readonly at: string
  readonly verdict: Verdict
  /** `streams`, summed over the partitions. */
  readonly waiting: readonly GroupWaiting[]
  /** What waits longest, of everything that is to be finished; null when nothing waits. */
  readonly oldest: OldestWork | null
  readonly batch_jobs: JobsStatus
  readonly bulk_jobs: JobsStatus
  readonly last_minute: LastMinute
  /** Of the last minute, by consumer group. */
  readonly inserts: readonly InsertStatus[]
  readonly redis: RedisStatus | null
  readonly dedup: DedupStatus | null
  readonly clickhouse: ClickHouseStatus | null
  /** Null when nobody has said where ClickHouse is. */
  readonly quotas: QuotaStatus | null
  /** In the order of their names. */
  readonly data: readonly DataSetStatus[]
  readonly processes: readonly ProcessStatus[]
  /** Newest first. */
  readonly errors: readonly LoggedProblem[]
  /** When the stores were looked at last for events that are too old. */
  readonly retention: readonly { readonly store: string; readonly at: string; readonly removed: number }[]
  /** Rows that ClickHouse has lost. */
  readonly damage: DamageStatus
  /** What could not be read, each in a phrase. */
  readonly unknown: readonly string[]
}

/** `stalled`: what was accepted does not get on; `warning`: somebody should look; `ok` otherwise. */
export interface Verdict {
  readonly level: 'ok' | 'warning' | 'stalled'
  /** One line. */
  readonly text: string
}

/** What waits for a consumer group in a lane, in all partitions. */
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
  /** For whom it waits: a consumer group and its lane, or the feeder of a batch job. */
  readonly where: string
}

/** Jobs of all tenants that have not ended. */
export interface JobsStatus {
  /** Uploads that are not whole yet. */
  readonly uploading: number
  readonly queued: number
  readonly running: number
  /** Lines, or addresses, of those that are queued or running. */
  readonly lines: number
  /** Those of them that nobody has taken yet; what was taken waits in the streams. */
  readonly lines_waiting: number
  /** Since the receipt of the oldest. */
  readonly oldest_ms: number
  /** The oldest of them, at most 20. */
  readonly oldest_jobs: readonly OpenJobStatus[]
}

export interface OpenJobStatus {
  readonly job_id: string
  readonly tenant_id: string
  readonly status: 'queued' | 'running'
  readonly lines: number
  readonly lines_waiting: number
  readonly age_ms: number
}

/** What all processes did in the last minute. */
export interface LastMinute {
  /** Live events that were accepted, those that are filtered and the unreadable included. */
  readonly live_events: number
  /** Lines of batch jobs that were fed or rejected. */
  readonly batch_lines: number
  /** Events that the steps finished: kept, dropped or given up. */
  readonly processed: number
  /** Rows of events that were stored. */
  readonly stored: number
  /** Events that became dead letters. */
  readonly dead: number
  readonly requests: number
  /** Requests that were answered 429. */
  readonly refused: number
}

export interface InsertStatus {
  readonly group: string
  readonly inserts: number
  readonly rows: number
  readonly failures: number
  /** Rows that were refused and became dead letters. A process of an earlier version does not say. */
  readonly refused?: number
  /** Why rows were refused last, in a few words; null: none was. They may be tried again, and some become dead letters. */
  readonly refusal?: string | null
  /** Of the average insert, from its start to its acknowledgement. */
  readonly avg_ms: number
  readonly max_ms: number
}

/** All masters of Redis together; `used_share` is of the fullest. */
export interface RedisStatus {
  readonly version: string
  readonly used_bytes: number
  /** 0: without a limit. */
  readonly max_bytes: number
  /** 0 to 1. */
  readonly used_share: number
  readonly evicts: boolean
  readonly append_only: boolean
}

/** What the dedup window remembers, in all partitions. */
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
  /** Tables and views of the schema that are not there. */
  readonly missing_tables: readonly string[]
}

/** Parts of tables whose rows are missing, until somebody drops them. */
export interface DamageStatus {
  readonly parts: readonly DamagedPart[]
  /** Tenants whose archive may have their events, at most 20; empty while nothing is missing. */
  readonly archived_tenants: readonly string[]
}

/** A part of a table that ClickHouse could not read when it started, and has set aside. */
export interface DamagedPart {
  readonly table: string
  /** As `system.detached_parts` names it. */
  readonly name: string
  /** Null when its files do not say. */
  readonly rows: number | null
  /** First and last UTC day of receipt; null for a table that has none. */
  readonly from: string | null
  readonly to: string | null
  readonly found_at: string
  /** False: its rows were found in the parts that it was made of. */
  readonly missing: boolean
}

/** Who is near his quotas. Nothing is refused for tracked accounts. */
export interface QuotaStatus {
  /** Tenants that have used up a quota, or passed it. */
  readonly passed: { readonly daily_lookups: number; readonly monthly_accounts: number }
  /** Of each quota the 20 that are nearest to their limit, or most beyond it. */
  readonly highest: readonly QuotaUse[]
}

export interface QuotaUse {
  readonly tenant_id: string
  readonly quota: 'daily_lookups' | 'monthly_accounts'
  /** Of this UTC day, or month. */
  readonly used: number
  readonly limit: number
  /** Of accounts: when the first event of the company beyond the limit was received; else null. */
  readonly passed_at: string | null
}

/** A file of enrichment data, as the processes have it. */
export interface DataSetStatus {
  readonly name: string
  /**
   * `replaced`: newer data of its kind serve in its place; `waiting`: it is read or compiled soon; `stale`: a newer version
   * was refused; `failed`: it cannot be read; `ignored`: it is no data.
   */
  readonly state: 'ok' | 'replaced' | 'waiting' | 'stale' | 'failed' | 'ignored'
  readonly reason: string | null
  /** In words; null: as nothing. A process of an earlier version does not say. */
  readonly recognised_as?: string | null
  readonly records: number
  /** As the file states it; null when it does not. */
  readonly built_at: string | null
  /** Whole days since then. */
  readonly age_days: number | null
  /** Older than 90 days, though a source is configured that brings newer ones. */
  readonly too_old: boolean
  /** Older than 90 days: name of the known source that has newer ones, and is not configured. */
  readonly newer?: string | null
}

/** A process that told of itself lately. */
export interface ProcessStatus {
  readonly roles: readonly string[]
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly started_at: string
  readonly told_at: string
}

/** A warning or an error of a process's log; one that came several times is one of these. */
export interface LoggedProblem {
  readonly at: string
  readonly level: 'warn' | 'error' | 'fatal'
  readonly process: string
  readonly message: string
  readonly times: number
}
