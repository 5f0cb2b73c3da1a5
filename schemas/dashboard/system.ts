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

/**
 * `GET /api/system/live` sends it every 2 s as the event `status`: what a page shows of `ipid status --json`, in the same
 * words; ages are milliseconds.
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
  /** Who is nearest to his quotas; null: nobody knows. */
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
      /** What its licence wants to be said wherever results are shown, and the licence. */
      attribution: nullable(S),
    }),
  ),
  processes: Type.Array(Type.Object({ roles: Type.Array(S), host: S, pid: N, version: S, started_at: S })),
  errors: Type.Array(Type.Object({ at: S, level: S, process: S, message: S, times: N })),
})
export type SystemAnswer = Static<typeof SystemAnswer>
