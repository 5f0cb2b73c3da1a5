import { type Static, Type } from 'typebox'

const S = Type.String()
const N = Type.Number()
const nullable = <T extends typeof S | typeof N>(type: T) => Type.Union([type, Type.Null()])

const Jobs = Type.Object({
  uploading: N,
  queued: N,
  running: N,
  lines: N,
  lines_waiting: N,
  oldest_ms: N,
  oldest_jobs: Type.Array(Type.Object({ job_id: S, tenant_id: S, status: S, lines: N, lines_waiting: N, age_ms: N })),
})
export type SystemJobs = Static<typeof Jobs>

/** Newer enrichment data: the sources of an update, and the result of the last one. */
export const DataUpdate = Type.Object({
  /** `idle`: no request in the last 24 hours. `failed`: at least one source could not be fetched. */
  state: Type.Enum(['idle', 'fetching', 'done', 'failed']),
  /** Time of the last request; null: never. */
  asked_at: nullable(S),
  /** When fetching began or ended; null while idle. */
  at: nullable(S),
  /** Free sources of newer data, which an update adds to `sources.json`. */
  adds: Type.Array(Type.Object({ name: S, holds: S, licence: S })),
  /** Sources of newer data that need a key of the operator's. An update does not add them. */
  keyed: Type.Array(Type.Object({ name: S, holds: S, key_env: S })),
  /** New or changed files. */
  changed: Type.Array(S),
  failures: Type.Array(Type.Object({ file: S, reason: S })),
  /** Why the dashboard cannot run an update; null: it can. */
  blocked: nullable(S),
  /** The equivalent command. */
  command: S,
})
/** `POST /api/system/data-update` starts an update unless one is running, and answers with this. 409: not possible. */
export type DataUpdate = Static<typeof DataUpdate>

/**
 * `GET /api/system/live` sends it every 2 s as the event `status`. It has the part of `ipid status --json` that the page shows, with
 * the same names. Ages are milliseconds.
 */
export const SystemAnswer = Type.Object({
  at: S,
  verdict: Type.Object({ level: Type.Enum(['ok', 'warning', 'stalled']), text: S }),
  waiting: Type.Array(
    Type.Object({ stream: S, group: S, lane: S, lag_entries: N, pending_entries: N, events: N, oldest_ms: N }),
  ),
  oldest: Type.Union([Type.Object({ age_ms: N, where: S }), Type.Null()]),
  dead_letters: N,
  batch_jobs: Jobs,
  bulk_jobs: Jobs,
  last_minute: Type.Object({
    ...{ live_events: N, batch_lines: N, processed: N, stored: N, dead: N, requests: N, refused: N },
  }),
  inserts: Type.Array(Type.Object({ group: S, inserts: N, rows: N, failures: N, avg_ms: N, max_ms: N })),
  redis: Type.Union([Type.Object({ version: S, used_bytes: N, max_bytes: N, used_share: N }), Type.Null()]),
  dedup: Type.Union([Type.Object({ entries: N, bytes: N }), Type.Null()]),
  /** The tenants nearest to their quotas; null: unknown. */
  quotas: Type.Union([
    Type.Array(Type.Object({ tenant_id: S, quota: S, used: N, limit: N, passed_at: nullable(S) })),
    Type.Null(),
  ]),
  clickhouse: Type.Union([Type.Object({ version: S, memory_bytes: N, memory_max_bytes: N }), Type.Null()]),
  data: Type.Array(
    Type.Object({
      ...{
        name: S,
        state: S,
        reason: nullable(S),
        recognised_as: nullable(S),
        records: N,
        built_at: nullable(S),
        age_days: nullable(N),
      },
      too_old: Type.Boolean(),
      /** If the data are older than 90 days: an unconfigured source with newer data. */
      newer: nullable(S),
      /** Text that the licence requires wherever results are shown, and the licence. */
      attribution: nullable(S),
    }),
  ),
  /** Null: no source is configured, and no data are old. */
  data_update: Type.Union([DataUpdate, Type.Null()]),
  processes: Type.Array(Type.Object({ roles: Type.Array(S), host: S, pid: N, version: S, started_at: S })),
  errors: Type.Array(Type.Object({ at: S, level: S, process: S, message: S, times: N })),
  /** Parts that could not be read, as `part: why`. Their lists are empty. */
  unknown: Type.Array(S),
})
export type SystemAnswer = Static<typeof SystemAnswer>
