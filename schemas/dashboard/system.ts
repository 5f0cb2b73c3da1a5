import { type Static, Type } from 'typebox'

const Text = Type.String()
const Num = Type.Number()
const nullable = <T extends typeof Text | typeof Num>(type: T) => Type.Union([type, Type.Null()])

const Jobs = Type.Object({
  uploading: Num,
  queued: Num,
  running: Num,
  lines: Num,
  lines_waiting: Num,
  oldest_ms: Num,
  oldest_jobs: Type.Array(
    Type.Object({ job_id: Text, tenant_id: Text, status: Text, lines: Num, lines_waiting: Num, age_ms: Num }),
  ),
})
export type SystemJobs = Static<typeof Jobs>

/** Newer enrichment data: the sources of an update, and the result of the last one. */
export const DataUpdate = Type.Object({
  /** `idle`: no request in the last 24 hours. `failed`: at least one source could not be fetched. */
  state: Type.Enum(['idle', 'fetching', 'done', 'failed']),
  /** Time of the last request; null: never. */
  asked_at: nullable(Text),
  /** When fetching began or ended; null while idle. */
  at: nullable(Text),
  /** Free sources of newer data, which an update adds to `sources.json`. */
  adds: Type.Array(Type.Object({ name: Text, holds: Text, licence: Text })),
  /** Sources of newer data that need a key of the operator's. An update does not add them. */
  keyed: Type.Array(Type.Object({ name: Text, holds: Text, key_env: Text })),
  /** New or changed files. */
  changed: Type.Array(Text),
  failures: Type.Array(Type.Object({ file: Text, reason: Text })),
  /** Why the dashboard cannot run an update; null: it can. */
  blocked: nullable(Text),
  /** The equivalent command. */
  command: Text,
})
/** `POST /api/system/data-update` starts an update unless one is running, and answers with this. 409: not possible. */
export type DataUpdate = Static<typeof DataUpdate>

/**
 * `GET /api/system/live` sends it every 2 s as the event `status`. It has the part of `ipid status --json` that the page shows, with
 * the same names. Ages are milliseconds.
 */
export const SystemAnswer = Type.Object({
  at: Text,
  verdict: Type.Object({ level: Type.Enum(['ok', 'warning', 'stalled']), text: Text }),
  waiting: Type.Array(
    Type.Object({
      stream: Text,
      group: Text,
      lane: Text,
      lag_entries: Num,
      pending_entries: Num,
      events: Num,
      oldest_ms: Num,
    }),
  ),
  oldest: Type.Union([Type.Object({ age_ms: Num, where: Text }), Type.Null()]),
  dead_letters: Num,
  batch_jobs: Jobs,
  bulk_jobs: Jobs,
  exports: Type.Object({
    ...{ count: Num, failed: Num, late: Num },
    worst: Type.Array(
      Type.Object({ tenant_id: Text, name: Text, open_since: nullable(Text), failures: Num, error: nullable(Text) }),
    ),
  }),
  /** Scheduled backups; null: they are off, or unknown. */
  backup: Type.Union([
    Type.Object({
      ...{ place: Text, every: Type.Enum(['day', 'week']), at: Text },
      last: Type.Union([Type.Object({ name: Text, at: Text, took_ms: Num, bytes: Num }), Type.Null()]),
      ...{ age_ms: nullable(Num), missing_since: nullable(Text), late_ms: Num, next_at: Text },
      ...{ failures: Num, error: nullable(Text) },
    }),
    Type.Null(),
  ]),
  /** Closed days that pages read from events; null: unknown. */
  days: Type.Union([
    Type.Object({
      ...{ stale: nullable(Num), oldest_since: nullable(Text), oldest_ms: Num },
      ...{ waits: Type.Boolean(), failure: nullable(Text) },
    }),
    Type.Null(),
  ]),
  last_minute: Type.Object({
    ...{ live_events: Num, batch_lines: Num, processed: Num, stored: Num, dead: Num, requests: Num, refused: Num },
  }),
  inserts: Type.Array(Type.Object({ group: Text, inserts: Num, rows: Num, failures: Num, avg_ms: Num, max_ms: Num })),
  redis: Type.Union([
    Type.Object({
      ...{ version: Text, used_bytes: Num, max_bytes: Num, used_share: Num },
      /** Absent without Sentinel. */
      sentinel: Type.Optional(
        Type.Object({ master: Text, replicas: Num, wait_replicas: Num, refuses_alone: Type.Boolean() }),
      ),
    }),
    Type.Null(),
  ]),
  dedup: Type.Union([Type.Object({ entries: Num, bytes: Num }), Type.Null()]),
  /** The tenants nearest to their quotas; null: unknown. */
  quotas: Type.Union([
    Type.Array(Type.Object({ tenant_id: Text, quota: Text, used: Num, limit: Num, passed_at: nullable(Text) })),
    Type.Null(),
  ]),
  clickhouse: Type.Union([Type.Object({ version: Text, memory_bytes: Num, memory_max_bytes: Num }), Type.Null()]),
  data: Type.Array(
    Type.Object({
      ...{
        name: Text,
        state: Text,
        reason: nullable(Text),
        recognised_as: nullable(Text),
        records: Num,
        built_at: nullable(Text),
        age_days: nullable(Num),
      },
      too_old: Type.Boolean(),
      /** If the data are older than 90 days: an unconfigured source with newer data. */
      newer: nullable(Text),
      /** Text that the licence requires wherever results are shown, and the licence. */
      attribution: nullable(Text),
    }),
  ),
  /** Null: no source is configured, and no data are old. */
  data_update: Type.Union([DataUpdate, Type.Null()]),
  processes: Type.Array(
    Type.Object({ roles: Type.Array(Text), host: Text, pid: Num, version: Text, started_at: Text }),
  ),
  errors: Type.Array(Type.Object({ at: Text, level: Text, process: Text, message: Text, times: Num })),
  /** Parts that could not be read, as `part: why`. Their lists are empty. */
  unknown: Type.Array(Text),
})
export type SystemAnswer = Static<typeof SystemAnswer>
