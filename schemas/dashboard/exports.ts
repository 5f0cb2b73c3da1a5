import { type Static, Type } from 'typebox'
import { PAUSED } from '../export.ts'
import { EXPORT_FORMATS, EXPORT_LIMITS, EXPORT_PERIODS } from '../limits.ts'
import { ListedAlert } from './alerts.ts'

const Text = Type.Union([Type.String(), Type.Null()])
const Count = Type.Union([Type.Integer(), Type.Null()])
const Id = Type.String({ minLength: 1, maxLength: 64 })

const File = {
  /** Key of the object in the store. */
  object: Type.String(),
  rows: Type.Integer(),
  bytes: Type.Integer(),
}

/** Somebody who gets the files of an export by e-mail. */
export const ExportMailListed = Type.Object({
  mail_id: Type.String(),
  address: Type.String(),
  /** Whether it ends after one file. */
  once: Type.Boolean(),
  paused: ListedAlert.properties.paused,
  /** The address, when it has to confirm first; null: it has not. */
  unconfirmed: Text,
  /** Mails that are not delivered yet. */
  waiting: Type.Integer(),
  last_attempt: ListedAlert.properties.last_attempt,
})
export type ExportMailListed = Static<typeof ExportMailListed>

export const ListedExport = Type.Object({
  export_id: Type.String(),
  name: Type.String(),
  /** Without a name, the segment is gone. */
  segment: Type.Object({ segment_id: Type.String(), name: Text }),
  every: Type.Enum([...EXPORT_PERIODS]),
  /** HH:MM, UTC. */
  at: Type.String(),
  format: Type.Enum([...EXPORT_FORMATS]),
  keep: Type.Integer(),
  /** Folder of its files in the store. */
  folder: Type.String(),
  created_at: Type.String(),
  paused: Type.Union([PAUSED, Type.Null()]),
  /** When it is due next; null: it is paused. */
  next_at: Text,
  /** When it is due in the next 7 days. */
  upcoming: Type.Array(Type.String()),
  /** When the file that is not written yet was due or requested; null: none is missing. */
  open_since: Text,
  last: Type.Union([Type.Object({ written_at: Type.String(), ...File, took_ms: Type.Integer() }), Type.Null()]),
  /** Why the last attempt failed; null: it did not. */
  error: Type.Union([
    Type.Object({ at: Type.String(), message: Type.String(), failures: Type.Integer(), retry_at: Type.String() }),
    Type.Null(),
  ]),
  /** The last attempts, newest first. With an error, there is no file. */
  runs: Type.Array(Type.Object({ at: Type.String(), object: Text, rows: Count, bytes: Count, error: Text })),
  /** Oldest first. */
  mails: Type.Array(ExportMailListed),
})
export type ListedExport = Static<typeof ListedExport>

/** `GET /api/tenants/:tenant/exports`: oldest first. */
export const ExportsAnswer = Type.Object({
  exports: Type.Array(ListedExport),
  exports_max: Type.Integer(),
  /** Whether this ipid sends e-mail: SMTP_URL is set. */
  can_email: Type.Boolean(),
  /** E-mail address of the user; null: it is not known. */
  own_address: Text,
  store: Type.Object({
    /** `folder`: ARCHIVE_URL names no bucket. */
    kind: Type.Enum(['bucket', 'folder']),
    /** Null: a folder of the machine, which only operators see. */
    place: Text,
  }),
})
export type ExportsAnswer = Static<typeof ExportsAnswer>

/** `GET /api/tenants/:tenant/exports/file`: a file of an export, to save. */
export const ExportFileQuery = Type.Object(
  {
    export_id: Id,
    file: Type.String({ pattern: '^[0-9TZ-]{17}\\.(csv|ndjson)$', description: 'Its name in the folder' }),
  },
  { additionalProperties: false },
)

/** `POST /api/tenants/:tenant/exports` answers with the export. */
export const CreateExportBody = Type.Object(
  {
    name: Type.String({ maxLength: 500 }),
    segment_id: Id,
    every: Type.Enum([...EXPORT_PERIODS]),
    at: Type.String({ maxLength: 20 }),
    format: Type.Enum([...EXPORT_FORMATS]),
    keep: Type.Optional(Type.Integer({ minimum: 1, maximum: EXPORT_LIMITS.keepMax })),
  },
  { additionalProperties: false },
)
export type CreateExportBody = Static<typeof CreateExportBody>

/** `POST /api/tenants/:tenant/exports/mail`: sends an address the files. Answers with the subscription. */
export const MailExportBody = Type.Object(
  { export_id: Id, address: Type.String({ maxLength: 400 }), once: Type.Boolean() },
  { additionalProperties: false },
)
export type MailExportBody = Static<typeof MailExportBody>

/** `POST /api/tenants/:tenant/exports/mail/ask-again` and `/remove` */
export const ExportMailBody = Type.Object({ mail_id: Id }, { additionalProperties: false })

/** `POST /api/tenants/:tenant/exports/run`, `/pause` and `/resume` answer with the export; `/remove` keeps its files. */
export const ExportBody = Type.Object({ export_id: Id }, { additionalProperties: false })
