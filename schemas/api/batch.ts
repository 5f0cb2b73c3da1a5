import { type Static, Type } from 'typebox'

/**
 * Limits of an upload. A line longer than `lineMaxBytes` is a bad line. The last three limit a CSV header, and so the size of a row
 * as NDJSON. `rejectedHours`: how long rejected lines are kept after the end of their job; the next four limit them for a job, the bytes
 * (compressed) also for a tenant, and for all tenants: one gets at most a quarter of what the others leave free, and without others
 * `rejectedTenantBytesMax`. `rejectedTextMaxBytes`: of the text of one of them.
 */
export const BATCH_LIMITS = {
  bodyMaxBytes: 104_857_600,
  linesMax: 1_000_000,
  lineMaxBytes: 1_048_576,
  errorsMax: 100,
  reasonsMax: 20,
  reasonMaxChars: 200,
  reasonLinesMax: 5,
  rejectedHours: 24,
  rejectedLinesMax: 100_000,
  rejectedBytesMax: 16_777_216,
  rejectedTenantBytesMax: 67_108_864,
  rejectedAllBytesMax: 268_435_456,
  rejectedTextMaxBytes: 65_536,
  columnsMax: 2_000,
  columnNameMaxChars: 256,
  headerMaxChars: 65_536,
} as const

/** Limits of the header `Idempotency-Key`. */
export const IDEMPOTENCY = { keyMaxChars: 255, hours: 24 } as const

/** Most characters (code points) of a job's label. */
export const LABEL_MAX_CHARS = 64

export const BATCH_STATUSES = ['queued', 'running', 'completed', 'failed'] as const
export const BatchStatus = Type.Enum([...BATCH_STATUSES], { title: 'JobStatus' })
export type BatchStatus = Static<typeof BatchStatus>

/** Answer of `POST /v1/ingest/batch`: the whole upload is stored and will be processed. */
export const BatchAccepted = Type.Object(
  {
    job_id: Type.String(),
    status: Type.Literal('queued'),
    received: Type.Integer({ description: 'Lines of the upload, without blank ones' }),
  },
  { title: 'JobAccepted' },
)
export type BatchAccepted = Static<typeof BatchAccepted>

/** Rejected lines with the same fault. */
export const RejectedReason = Type.Object(
  {
    reason: Type.String({ description: 'Quotes nothing of the lines' }),
    count: Type.Integer({ description: 'Lines' }),
    lines: Type.Array(Type.Integer(), {
      maxItems: BATCH_LIMITS.reasonLinesMax,
      description: 'The first of them, counted from 1; empty for dead letters',
    }),
  },
  { title: 'RejectedReason' },
)
export type RejectedReason = Static<typeof RejectedReason>

const RejectedReasons = Type.Array(RejectedReason, {
  maxItems: BATCH_LIMITS.reasonsMax + 2,
  description:
    `An extension: rejected lines by reason, the most frequent first. Lists the first ${BATCH_LIMITS.reasonsMax} reasons ` +
    'that occur; the rest count as other reasons',
})

/** What is wrong with a rejected line. */
export const REJECTED_CODES = {
  not_utf8: 'The line is not UTF-8',
  not_json: 'It is not JSON: the detail says where it breaks',
  too_long: `It is longer than ${BATCH_LIMITS.lineMaxBytes} bytes`,
  too_deep: 'It is nested too deep',
  schema: 'It is no event: something is missing or of another type',
  unreadable: 'The row of a file cannot be read, or cannot become an event',
  no_address: 'An event of a source has no address',
  invalid_ip: 'Its ip is not an address',
} as const
export type RejectedCode = keyof typeof REJECTED_CODES

/** A line of `GET /v1/ingest/batch/{job_id}/rejected`. */
export const RejectedLine = Type.Object({
  line: Type.Integer({ description: 'Counted from 1 with blank lines, as in `result_summary.errors`' }),
  code: Type.Enum(Object.keys(REJECTED_CODES) as RejectedCode[], {
    description: Object.entries(REJECTED_CODES)
      .map(([code, meaning]) => `\`${code}\`: ${meaning}`)
      .join('. '),
  }),
  detail: Type.String({ description: 'The fault in words' }),
  text: Type.Optional(
    Type.String({
      description:
        'The line as it was sent, without its line end. Absent for `too_long` and `unreadable`, for a tenant that does not store ' +
        'addresses in full, and after an erasure',
    }),
  ),
  text_base64: Type.Optional(Type.String({ description: 'Its bytes instead, for `not_utf8`' })),
  text_cut: Type.Optional(
    Type.Literal(true, {
      description: `The line has more than ${BATCH_LIMITS.rejectedTextMaxBytes} bytes, of which the first are here; absent otherwise`,
    }),
  ),
})
export type RejectedLine = Static<typeof RejectedLine>

/** Result of a batch job. Every number counts lines. */
export const BatchSummary = Type.Object(
  {
    processed: Type.Integer({ description: 'All lines: the same number as progress_total' }),
    valid_ips: Type.Integer({ description: 'Events with a valid address' }),
    identified_ips: Type.Integer({
      description: 'Events whose address belongs to a known organisation that is not noise',
    }),
    rejected: Type.Integer({ description: 'Lines that are not events: not JSON, against the schema, or too long' }),
    filtered: Type.Integer({ description: 'Events from infrastructure' }),
    invalid_ip: Type.Integer({ description: 'Events with an invalid address' }),
    duplicates: Type.Integer({ description: 'Repeats of events that were kept within 7 days' }),
    warning: Type.Optional(
      Type.String({
        description:
          'An extension: set when nearly all events come from hosts, a cloud, a CDN or a private network; names the likely mistake',
      }),
    ),
    filtered_reasons: Type.Optional(
      Type.Record(Type.String(), Type.Integer(), {
        description:
          'An extension: filtered events by class of their address, bot or rule; no_page: requests that are no page views',
      }),
    ),
    errors: Type.Array(Type.Object({ line: Type.Integer(), detail: Type.String() }), {
      maxItems: BATCH_LIMITS.errorsMax,
      description: 'The first bad lines, counted from 1 with blank ones',
    }),
    rejected_reasons: Type.Optional(RejectedReasons),
  },
  {
    title: 'JobSummary',
    additionalProperties: Type.Integer({ description: 'Events that another stage dropped, by its reason' }),
  },
)
export type BatchSummary = Static<typeof BatchSummary>

/** Answer of `GET /v1/ingest/batch/{job_id}` (schemas/README.md, Batch jobs). */
export const BatchJob = Type.Object(
  {
    job_id: Type.String(),
    status: BatchStatus,
    progress_pct: Type.Integer({ minimum: 0, maximum: 100 }),
    progress_current: Type.Integer({ description: 'Finished events' }),
    progress_total: Type.Integer(),
    progress_message: Type.String(),
    rejected: Type.Integer({ description: 'An extension: lines rejected so far' }),
    rejected_reasons: RejectedReasons,
    rejected_lines: Type.Union(
      [
        Type.Object({
          kept: Type.Integer({ description: 'Lines that it answers' }),
          complete: Type.Boolean({
            description:
              'The job has ended, and all of its lines that are rejected or have an invalid address are kept',
          }),
          expires_at: Type.Union([Type.String({ format: 'rfc3339' }), Type.Null()], {
            description: 'Null until the job has ended',
          }),
        }),
        Type.Null(),
      ],
      {
        description:
          'An extension: what `GET /v1/ingest/batch/{job_id}/rejected` answers; null when it is no longer kept. ' +
          `At most the first ${BATCH_LIMITS.rejectedLinesMax} lines and ${BATCH_LIMITS.rejectedBytesMax / 2 ** 20} MiB of a job, and ` +
          `${BATCH_LIMITS.rejectedTenantBytesMax / 2 ** 20} MiB of a tenant, both compressed, are kept, and fewer while tenants together have nearly ` +
          `${BATCH_LIMITS.rejectedAllBytesMax / 2 ** 20} MiB`,
      },
    ),
    cancelled: Type.Boolean({ description: 'An extension: the tenant cancelled it; its status is then `failed`' }),
    label: Type.Union([Type.String(), Type.Null()], { description: 'An extension: the `label` of its upload' }),
    stored: Type.Integer({ description: 'An extension: events stored so far, without repeats' }),
    started_at: Type.Union([Type.String({ format: 'rfc3339' }), Type.Null()], {
      description: 'An extension: when the first lines entered the pipeline; null before',
    }),
    ended_at: Type.Union([Type.String({ format: 'rfc3339' }), Type.Null()], {
      description: 'An extension: null until it has ended',
    }),
    problem: Type.Union([Type.String(), Type.Null()], {
      description:
        'An extension: set when more than half of the lines are rejected or have an invalid address; any status',
    }),
    result_summary: Type.Union([BatchSummary, Type.Null()]),
  },
  { title: 'Job' },
)
export type BatchJob = Static<typeof BatchJob>

/** A job in a list. */
export const ListedBatchJob = Type.Interface(
  [BatchJob],
  {
    received_at: Type.String({ format: 'rfc3339', description: 'When its upload began' }),
  },
  { title: 'ListedJob' },
)
export type ListedBatchJob = Static<typeof ListedBatchJob>

/** Jobs of a page: default and limit. */
export const BATCH_LIST_LIMITS = { jobs: 20, jobsMax: 100 } as const

/** A page of jobs, newest first. */
export const BatchJobList = Type.Object({
  jobs: Type.Array(ListedBatchJob, { maxItems: BATCH_LIST_LIMITS.jobsMax }),
  next: Type.Union([Type.String(), Type.Null()], { description: 'Where the next page begins; null: no more' }),
})
export type BatchJobList = Static<typeof BatchJobList>

/** `BatchJobList` as the API shows it. */
export const JobList = Type.Interface(
  [BatchJobList],
  {
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'The `cursor` of the next page; null on the last page',
    }),
    next: Type.Union([Type.String(), Type.Null()], {
      deprecated: true,
      description: 'The name of `next_cursor` in version 0.2',
    }),
  },
  { title: 'JobList' },
)
export type JobList = Static<typeof JobList>
