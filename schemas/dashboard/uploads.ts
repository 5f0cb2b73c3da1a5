import { type Static, Type } from 'typebox'
import { BATCH_LIMITS, BATCH_LIST_LIMITS, BatchJobList, ListedBatchJob } from '../api/batch.ts'
import { Judgement } from '../live-event.ts'

/** How to read a file. Absent options are detected from the content. */
export const UploadChoice = Type.Object(
  {
    /** Name of the file, for messages. */
    name: Type.String({ minLength: 1, maxLength: 500 }),
    format: Type.Optional(Type.Enum(['ndjson', 'csv'])),
    /** A label of the WHATWG Encoding Standard. */
    encoding: Type.Optional(Type.String({ maxLength: 40 })),
    date_order: Type.Optional(Type.Enum(['dmy', 'mdy'])),
    /** Maps columns, or keys of NDJSON, to keys of events. `''` leaves the column out. */
    map: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: BATCH_LIMITS.columnNameMaxChars }), {
        maxProperties: BATCH_LIMITS.columnsMax,
      }),
    ),
    /** For an upload: the job that already has this file, if the file must be counted again. */
    again: Type.Optional(Type.String({ maxLength: 64 })),
    /** For a preview: whether the bytes are the whole file. */
    whole: Type.Optional(Type.Boolean()),
    /** For a preview: whether to guess the columns of address and time from their values. */
    guess: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
export type UploadChoice = Static<typeof UploadChoice>

/** Bytes of a file to send for a preview. */
export const PREVIEW_BYTES = 262_144

/** A row of a file, and its event. */
export const PreviewRow = Type.Object({
  /** Counted from 1. */
  line: Type.Integer(),
  /** JSON, cut when it is long; null: no event. */
  event: Type.Union([Type.String(), Type.Null()]),
  /** Null: none. */
  problem: Type.Union([Type.String(), Type.Null()]),
  /** The pipeline's result by today's data and rules; null when there is a problem. */
  becomes: Type.Union([Judgement, Type.Null()]),
  /** An earlier line with the same event id, so that this row counts as its repeat; null: none. */
  repeat_of: Type.Union([Type.Integer(), Type.Null()]),
})
export type PreviewRow = Static<typeof PreviewRow>

/** Answer of `POST /api/tenants/:tenant/upload-preview`. */
export const UploadPreview = Type.Object({
  format: Type.Enum(['ndjson', 'csv']),
  gzip: Type.Boolean(),
  /** Null for NDJSON. */
  delimiter: Type.Union([Type.String(), Type.Null()]),
  columns: Type.Array(
    Type.Object({
      name: Type.String(),
      /** The key in an event; `''` leaves the column out. */
      key: Type.String(),
      /** The first value. */
      example: Type.String(),
    }),
  ),
  /** Keys of events that have a meaning, the address first. */
  keys: Type.Array(Type.String()),
  /** The first 20. */
  rows: Type.Array(PreviewRow),
  /** Why the file cannot be uploaded; null: it can. */
  problem: Type.Union([Type.String(), Type.Null()]),
  /** Size of the part that was read, to estimate the whole. */
  sample: Type.Object({
    /** Bytes of the file. */
    bytes: Type.Integer(),
    /** The same without gzip. */
    plain_bytes: Type.Integer(),
    lines: Type.Integer(),
    /** The same as NDJSON. */
    event_bytes: Type.Integer(),
  }),
})
export type UploadPreview = Static<typeof UploadPreview>

/** Answer of `POST /api/tenants/:tenant/uploads`. `repeated`: that job already has the same file, and nothing was stored. */
export const UploadAnswer = Type.Object({
  status: Type.Enum(['queued', 'repeated']),
  job_id: Type.String(),
  /** Lines; 0 when `repeated`. */
  received: Type.Integer(),
})
export type UploadAnswer = Static<typeof UploadAnswer>

export const UploadListQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: BATCH_LIST_LIMITS.jobsMax })),
    before: Type.Optional(Type.String({ maxLength: 64 })),
  },
  { additionalProperties: false },
)

/** Limits of a file, without gzip and as NDJSON, and of a tenant's queued or running jobs. */
export const UploadLimits = Type.Object({
  bytes_max: Type.Integer(),
  event_bytes_max: Type.Integer(),
  lines_max: Type.Integer(),
  line_bytes_max: Type.Integer(),
  jobs_max: Type.Integer(),
  preview_bytes: Type.Integer(),
})
export type UploadLimits = Static<typeof UploadLimits>

/** Answer of `GET /api/tenants/:tenant/uploads`: all batch jobs of the tenant, newest first. */
export const UploadList = Type.Interface([BatchJobList], {
  jobs: Type.Array(
    Type.Interface([ListedBatchJob], {
      /** Null for a job from the API. */
      file_name: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  limits: UploadLimits,
})
export type UploadList = Static<typeof UploadList>
