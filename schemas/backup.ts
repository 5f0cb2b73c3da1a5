import { type Static, Type } from 'typebox'
import { ApiKeyRecord } from './api-key.ts'
import { TenantRecord } from './tenant.ts'

/** Of what form a backup is; another one is refused. */
export const BACKUP_FORMAT = 1

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Count = Type.Integer({ minimum: 0 })
const time = (description: string) => Type.String({ format: 'rfc3339', description })

/** A file of a backup: lines, each ended by a line feed, as gzip. */
export const BackupFile = Type.Object({
  name: Type.String({ pattern: '^[a-z0-9_.-]{1,100}$' }),
  lines: Count,
  bytes: Type.Integer({ minimum: 0, description: 'Size of the file as it is' }),
  sha256: Sha256,
})
export type BackupFile = Static<typeof BackupFile>

/** A table of ClickHouse that stores rows. Its file is TabSeparated. */
export const BackupTable = Type.Object({
  table: Type.String({ minLength: 1 }),
  columns: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description: 'In the order of the file' }),
  create: Type.String({
    minLength: 1,
    description: 'The statement that makes it, for a table that is in no migration',
  }),
  file: BackupFile,
})
export type BackupTable = Static<typeof BackupTable>

/** `manifest.json`, which is written last: a folder without it is no backup. */
export const BackupManifest = Type.Object({
  format: Type.Literal(BACKUP_FORMAT),
  id: Type.String({ minLength: 1, description: 'Tells this backup from all others' }),
  ipid_version: Type.String(),
  created_at: time('When it was complete'),
  received_before: time('Whatever was answered before this moment is in it'),
  partitions: Type.Integer({ minimum: 1 }),
  partitions_since: Type.Optional(
    Type.Integer({ minimum: 1, description: 'When their number was raised, milliseconds since 1970; absent: never' }),
  ),
  migrations: Type.Array(Type.String({ minLength: 1 }), { description: 'That were applied, in their order' }),
  tables: Type.Array(BackupTable),
  tenants: BackupFile,
  dead_letters: BackupFile,
  archive: Type.Object(
    { place: Type.String({ description: 'Where the objects were' }), file: BackupFile },
    { description: 'Which objects the raw archive had; they are not in the backup' },
  ),
})
export type BackupManifest = Static<typeof BackupManifest>

/** A tenant with its keys and today's lookups: a line of the file of tenants. Records are as they are in Redis. */
export const TenantCopy = Type.Object({
  id: Type.String({ minLength: 1 }),
  record: TenantRecord,
  keys: Type.Array(
    Type.Object({
      sha256: Sha256,
      record: ApiKeyRecord,
      used_ms: Type.Union([Type.Integer(), Type.Null()], { description: 'Last use, milliseconds; null: never' }),
    }),
    { description: 'In the order of their creation' },
  ),
  lookups: Type.Object({ day: Type.String({ description: 'UTC, YYYY-MM-DD' }), used: Count }),
})
export type TenantCopy = Static<typeof TenantCopy>

/** An object of the raw archive: a line of their file, in the order of the keys. */
export const ArchivedObject = Type.Object({ key: Type.String({ minLength: 1 }), bytes: Count })
export type ArchivedObject = Static<typeof ArchivedObject>

/** A dead letter: a line of their file. */
export const LetterCopy = Type.Object({
  partition: Type.Integer({ minimum: 0 }),
  id: Type.String({ pattern: '^\\d+-\\d+$' }),
  fields: Type.Array(Type.String(), { description: 'Names and values in turn, as base64' }),
  claim: Type.Union([Type.String(), Type.Null()], {
    description: 'The owner, as base64, in whose name the event is known to dedup; null: this letter has no claim',
  }),
})
export type LetterCopy = Static<typeof LetterCopy>
