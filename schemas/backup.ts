import { type Static, Type } from 'typebox'
import { AlertRecord } from './alert.ts'
import { ApiKeyRecord } from './api-key.ts'
import { CrmRecord } from './crm.ts'
import { ExportRecord } from './export.ts'
import { BACKUP_FORMAT } from './forms.ts'
import { SegmentRecord } from './segment.ts'
import { TenantRecord } from './tenant.ts'
import { RULES_MAX } from './tenant-rules.ts'

/** Longest line of a file. Real lines are far shorter; the limit bounds the memory of a restore, which holds one line. */
export const BACKUP_LINE_BYTES_MAX = 67_108_864

const TenantId = Type.String({ pattern: '^[a-z0-9-]{1,64}$' })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
/** The latest time of a JavaScript date. */
const TIME_MS_MAX = 8_640_000_000_000_000
const Count = Type.Integer({ minimum: 0 })
const time = (description: string) => Type.String({ format: 'rfc3339', description })

/** A file of a backup: gzip of lines that each end with a line feed. */
export const BackupFile = Type.Object({
  name: Type.String({ pattern: '^[a-z0-9_][a-z0-9_.-]{0,99}$' }),
  lines: Count,
  bytes: Type.Integer({ minimum: 0, description: 'Size of the gzip file' }),
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
    description: 'Its CREATE statement, for a table that no migration creates. A restore reads it but does not run it',
  }),
  file: BackupFile,
})
export type BackupTable = Static<typeof BackupTable>

const Text = (description: string) => Type.String({ maxLength: 100, description })

/** Totals of the rows and records of a backup. `ipid restore --check` compares them with a restored instance. */
export const BackupFigures = Type.Object({
  events: Type.Object({
    rows: Count,
    ids: Type.Integer({ minimum: 0, description: 'Distinct event ids, by 26 bits of their CRC-32' }),
    companies: Type.Integer({ minimum: 0, description: 'Distinct companies, counted in the same way' }),
    tenants: Type.Integer({ minimum: 0, description: 'Distinct tenants, counted in the same way' }),
    of_jobs: Type.Integer({ minimum: 0, description: 'Events of batch jobs' }),
    first_received: Text('UTC; empty without events'),
    last_received: Text('UTC; empty without events'),
    checksum: Type.Integer({ minimum: 0, description: 'Exclusive or of the CRC-32 of all rows' }),
  }),
  outcomes: Type.Integer({ minimum: 0, description: 'Sum of the events in the table of outcomes' }),
  tenants: Count,
  keys: Type.Integer({ minimum: 0, description: 'API keys and keys of sources, revoked ones too' }),
  pulls: Count,
  dead_letters: Count,
})
export type BackupFigures = Static<typeof BackupFigures>

/** `manifest.json`. It is written last: a folder without it is not a backup. */
export const BackupManifest = Type.Object({
  format: Type.Literal(BACKUP_FORMAT),
  id: Type.String({ minLength: 1, maxLength: 100, description: 'Unique id of the backup' }),
  ipid_version: Type.String({ maxLength: 100 }),
  created_at: time('When the backup was complete'),
  received_before: time('The backup has every request that was answered before this time'),
  partitions: Type.Integer({ minimum: 1, maximum: 1_024 }),
  partitions_since: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: TIME_MS_MAX,
      description: 'When a restore last changed the number of partitions, milliseconds since 1970; absent: never',
    }),
  ),
  migrations: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    maxItems: 10_000,
    description: 'Applied migrations, in order',
  }),
  tables: Type.Array(BackupTable, { maxItems: 10_000 }),
  tenants: BackupFile,
  pulls: Type.Optional(BackupFile),
  dead_letters: BackupFile,
  archive: Type.Object(
    { place: Type.String({ maxLength: 4_096, description: 'Where the objects were' }), file: BackupFile },
    { description: 'List of the objects in the raw archive; the backup does not contain them' },
  ),
  figures: Type.Optional(BackupFigures),
})
export type BackupManifest = Static<typeof BackupManifest>

/** A tenant with its keys and today's lookups: a line of the file `tenants`. Records have the same form as in Redis. */
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
        prefix: Type.String({ pattern: '^(ipid|src)_[0-9a-f]{7}$' }),
        tenant_id: TenantId,
        created_at: time('ISO 8601, UTC'),
        revoked_at: Type.Optional(time('ISO 8601, UTC')),
      }),
      used_ms: Type.Union([Type.Integer({ minimum: 0, maximum: TIME_MS_MAX }), Type.Null()], {
        description: 'Last use, milliseconds; null: never',
      }),
    }),
    { description: 'Keys of the tenant in the order of their creation' },
  ),
  segments: Type.Optional(
    Type.Record(Type.String({ pattern: '^segment_[0-9a-f]{12}$' }), SegmentRecord, { description: 'By id' }),
  ),
  alerts: Type.Optional(
    Type.Record(Type.String({ pattern: '^alert_[0-9a-f]{12}$' }), AlertRecord, {
      description: 'By id. Their secrets are encrypted under a key that a backup does not have',
    }),
  ),
  opt_outs: Type.Optional(
    Type.Array(Type.String({ pattern: '^[a-z._]{1,40} [0-9a-f]{8}:[A-Za-z0-9_-]{43}$' }), {
      maxItems: 1_000_000,
      description:
        'E-mail addresses whose subscriptions ended, as `KIND DIGEST`. The digests are keyed by a key that a backup does not have',
    }),
  ),
  exports: Type.Optional(
    Type.Record(Type.String({ pattern: '^export_[0-9a-f]{12}$' }), ExportRecord, { description: 'By id' }),
  ),
  crm: Type.Optional(CrmRecord),
  lookups: Type.Object({
    day: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', description: 'UTC, YYYY-MM-DD' }),
    used: Count,
  }),
})
export type TenantCopy = Static<typeof TenantCopy>

const Problem = Type.Object({ message: Type.String({ maxLength: 10_000 }), atMs: Type.Number() })

/** The progress of a source that ipid pulls: a line of the file `pulls`. It has no secrets. */
export const PullCopy = Type.Object({
  id: Type.String({ pattern: '^src_[0-9a-f]{7}$' }),
  state: Type.Object(
    {
      cursor: Type.Object({}),
      counts: Type.Object({ objects: Count, refused: Count, lines: Count, rejected: Count }),
      partials: Type.Array(Type.Object({ id: Type.String({ maxLength: 10_000 }), lines: Count }), { maxItems: 100 }),
      jobs: Type.Array(Type.String({ pattern: '^[0-9a-f-]{36}$' }), { maxItems: 10 }),
      nextRunAtMs: Type.Number(),
      failures: Count,
      error: Type.Optional(Problem),
      refusal: Type.Optional(Problem),
    },
    { description: '`PullState`' },
  ),
  marks: Type.Array(Type.Tuple([Type.String({ maxLength: 24 }), Type.Number()]), {
    maxItems: 1_000_000,
    description: 'What it has fetched lately, and when that was written, milliseconds',
  }),
})
export type PullCopy = Static<typeof PullCopy>

/** An object of the raw archive: a line of the archive's file, which is sorted by key. */
export const ArchivedObject = Type.Object({ key: Type.String({ minLength: 1, maxLength: 1_024 }), bytes: Count })
export type ArchivedObject = Static<typeof ArchivedObject>

/** A dead letter: a line of the file `dead_letters`. */
export const LetterCopy = Type.Object({
  partition: Type.Integer({ minimum: 0, maximum: 1_023 }),
  id: Type.String({ pattern: '^\\d{1,15}-\\d{1,20}$' }),
  fields: Type.Array(Type.String(), {
    minItems: 2,
    maxItems: 100,
    description: 'Alternating names and values, as base64',
  }),
  claim: Type.Union([Type.String({ pattern: '^[A-Za-z0-9+/]{11}=$' }), Type.Null()], {
    description: 'The claim id under which dedup knows the event, as base64; null: this letter has no claim',
  }),
})
export type LetterCopy = Static<typeof LetterCopy>
