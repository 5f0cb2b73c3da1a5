import { type Static, Type } from 'typebox'
import { ApiKeyRecord } from './api-key.ts'
import { TenantRecord } from './tenant.ts'
import { RULES_MAX } from './tenant-rules.ts'

/** Of what form a backup is; another one is refused. */
export const BACKUP_FORMAT = 1

/** A line of a file. A line in a backup of ours is far shorter; a restore holds one line in memory. */
export const BACKUP_LINE_BYTES_MAX = 67_108_864

const TenantId = Type.String({ pattern: '^[a-z0-9-]{1,64}$' })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
/** The last moment of a JavaScript date. */
const TIME_MS_MAX = 8_640_000_000_000_000
const Count = Type.Integer({ minimum: 0 })
const time = (description: string) => Type.String({ format: 'rfc3339', description })

/** A file of a backup: lines, each ended by a line feed, as gzip. */
export const BackupFile = Type.Object({
  name: Type.String({ pattern: '^[a-z0-9_][a-z0-9_.-]{0,99}$' }),
  lines: Count,
  bytes: Type.Integer({ minimum: 0, description: 'Size of the file as it is' }),
  sha256: Sha256,
})
export type BackupFile = Static<typeof BackupFile>

/** A table of ClickHouse that stores rows. Its file is TabSeparated. */
export const BackupTable = Type.Object({
  table: Type.String({ minLength: 1, maxLength: 255 }),
  columns: Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), {
    minItems: 1,
    maxItems: 100_000,
    uniqueItems: true,
    description: 'In the order of the file',
  }),
  create: Type.String({
    minLength: 1,
    maxLength: 1_048_576,
    description:
      'The statement that makes it, for a table that is in no migration. A restore reads it, and does not run it',
  }),
  file: BackupFile,
})
export type BackupTable = Static<typeof BackupTable>

/** `manifest.json`, which is written last: a folder without it is no backup. */
export const BackupManifest = Type.Object({
  format: Type.Literal(BACKUP_FORMAT),
  id: Type.String({ minLength: 1, maxLength: 100, description: 'Tells this backup from all others' }),
  ipid_version: Type.String({ maxLength: 100 }),
  created_at: time('When it was complete'),
  received_before: time('Whatever was answered before this moment is in it'),
  partitions: Type.Integer({ minimum: 1, maximum: 1_024 }),
  partitions_since: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: TIME_MS_MAX,
      description: 'When a restore changed their number last, milliseconds since 1970; absent: never',
    }),
  ),
  migrations: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    maxItems: 10_000,
    description: 'That were applied, in their order',
  }),
  tables: Type.Array(BackupTable, { maxItems: 10_000 }),
  tenants: BackupFile,
  dead_letters: BackupFile,
  archive: Type.Object(
    { place: Type.String({ maxLength: 4_096, description: 'Where the objects were' }), file: BackupFile },
    { description: 'Which objects the raw archive had; they are not in the backup' },
  ),
})
export type BackupManifest = Static<typeof BackupManifest>

/** A tenant with its keys and today's lookups: a line of the file of tenants. Records are as they are in Redis. */
export const TenantCopy = Type.Object({
  id: TenantId,
  record: Type.Object({
    ...TenantRecord.properties,
    plan: Type.String({ minLength: 1, maxLength: 200 }),
    created_at: time('ISO 8601, UTC'),
    rules: Type.Optional(Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: RULES_MAX })),
  }),
  keys: Type.Array(
    Type.Object({
      sha256: Sha256,
      record: Type.Object({
        ...ApiKeyRecord.properties,
        prefix: Type.String({ pattern: '^ipid_[0-9a-f]{7}$' }),
        tenant_id: TenantId,
        created_at: time('ISO 8601, UTC'),
        revoked_at: Type.Optional(time('ISO 8601, UTC')),
      }),
      used_ms: Type.Union([Type.Integer({ minimum: 0, maximum: TIME_MS_MAX }), Type.Null()], {
        description: 'Last use, milliseconds; null: never',
      }),
    }),
    { description: 'In the order of their creation; each of this tenant' },
  ),
  lookups: Type.Object({
    day: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', description: 'UTC, YYYY-MM-DD' }),
    used: Count,
  }),
})
export type TenantCopy = Static<typeof TenantCopy>

/** An object of the raw archive: a line of their file, in the order of the keys. */
export const ArchivedObject = Type.Object({ key: Type.String({ minLength: 1, maxLength: 1_024 }), bytes: Count })
export type ArchivedObject = Static<typeof ArchivedObject>

/** A dead letter: a line of their file. */
export const LetterCopy = Type.Object({
  partition: Type.Integer({ minimum: 0, maximum: 1_023 }),
  id: Type.String({ pattern: '^\\d{1,15}-\\d{1,20}$' }),
  fields: Type.Array(Type.String(), {
    minItems: 2,
    maxItems: 100,
    description: 'Names and values in turn, as base64',
  }),
  claim: Type.Union([Type.String({ pattern: '^[A-Za-z0-9+/]{11}=$' }), Type.Null()], {
    description: 'The claim id under which dedup knows the event, as base64; null: this letter has no claim',
  }),
})
export type LetterCopy = Static<typeof LetterCopy>
