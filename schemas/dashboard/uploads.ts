import { type Static, Type } from 'typebox'
import { BATCH_LIMITS, BATCH_LIST_LIMITS, BatchJobList, ListedBatchJob } from '../api/batch.ts'
import { Judgement } from '../live-event.ts'

/** How a file is to be read; what is left out is found out by its content. */
export const UploadChoice = Type.Object(
  {
    /** Of the file, for messages. */
    name: Type.String({ minLength: 1, maxLength: 500 }),
    format: Type.Optional(Type.Enum(['ndjson', 'csv'])),
    /** A label of the WHATWG Encoding Standard. */
    encoding: Type.Optional(Type.String({ maxLength: 40 })),
    date_order: Type.Optional(Type.Enum(['dmy', 'mdy'])),
    /** The keys of events that columns, or keys of NDJSON, stand for; an empty one leaves the column out. */
    map: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: BATCH_LIMITS.columnNameMaxChars }), {
        maxProperties: BATCH_LIMITS.columnsMax,
      }),
    ),
    /** Of an upload: the job that has this file already. It is to count once more. */
    again: Type.Optional(Type.String({ maxLength: 64 })),
    /** Of a preview: whether these bytes are the whole file. */
    whole: Type.Optional(Type.Boolean()),
    /** Of a preview: which columns are address and time is guessed by what is in them. */
    guess: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
export type UploadChoice = Static<typeof UploadChoice>

/** Of a file, so many bytes are sent for a preview. */
export const PREVIEW_BYTES = 262_144

/** A row of a file, and what it would become. */
export const PreviewRow = Type.Object({
  /** As an editor counts. */
  line: Type.Integer(),
  /** JSON, cut when it is long; null: there is none. */
  event: Type.Union([Type.String(), Type.Null()]),
  /** What is wrong; null: nothing. */
  problem: Type.Union([Type.String(), Type.Null()]),
  /** What the pipeline makes of it by today's data and rules; null: it has a problem. */
  becomes: Type.Union([Judgement, Type.Null()]),
  /** The line among the rows before whose event has the same id, so that this one counts as its repeat; null: none. */
  repeat_of: Type.Union([Type.Integer(), Type.Null()]),
})
export type PreviewRow = Static<typeof PreviewRow>

/** Answer of `POST /api/tenants/:tenant/upload-preview`. */
export const UploadPreview = Type.Object({
  format: Type.Enum(['ndjson', 'csv']),
  gzip: Type.Boolean(),
  /** Of CSV. */
  delimiter: Type.Union([Type.String(), Type.Null()]),
  columns: Type.Array(
    Type.Object({
      name: Type.String(),
      /** What it is in an event; `''`: it is left out. */
      key: Type.String(),
      /** Of the first row that has one. */
      example: Type.String(),
    }),
  ),
  /** Keys of events that mean something, the address first. */
  keys: Type.Array(Type.String()),
  /** The first 20. */
  rows: Type.Array(PreviewRow),
  /** Why the file cannot be uploaded like this; null: it can. */
  problem: Type.Union([Type.String(), Type.Null()]),
  /** What was looked at, to tell how large the whole is. */
  sample: Type.Object({
    /** Of the file. */
    bytes: Type.Integer(),
    /** Those without gzip. */
    plain_bytes: Type.Integer(),
    lines: Type.Integer(),
    /** As NDJSON. */
    event_bytes: Type.Integer(),
  }),
})
export type UploadPreview = Static<typeof UploadPreview>

/** Answer of `POST /api/tenants/:tenant/uploads`. `repeated`: the job that has the same file already; nothing was taken. */
export const UploadAnswer = Type.Object({
  status: Type.Enum(['queued', 'repeated']),
  job_id: Type.String(),
  /** Lines; 0 when it is repeated. */
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

/** Limits of one file, counted without gzip, and of what it becomes as NDJSON; and how many jobs a tenant may have queued or running. */
export const UploadLimits = Type.Object({
  bytes_max: Type.Integer(),
  event_bytes_max: Type.Integer(),
  lines_max: Type.Integer(),
  line_bytes_max: Type.Integer(),
  jobs_max: Type.Integer(),
  preview_bytes: Type.Integer(),
})
export type UploadLimits = Static<typeof UploadLimits>

/** Answer of `GET /api/tenants/:tenant/uploads`: the batch jobs of the tenant, however they came, the newest first. */
export const UploadList = Type.Interface([BatchJobList], {
  jobs: Type.Array(
    Type.Interface([ListedBatchJob], {
      /** As whoever uploaded it called it; null: it came by the API. */
      file_name: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  limits: UploadLimits,
})
export type UploadList = Static<typeof UploadList>
