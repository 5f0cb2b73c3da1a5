import { type Static, Type } from 'typebox'
import { FACT_LIMITS, OWN_TYPES } from '../facts.ts'

/** Limits of a list of companies that is imported. */
export const IMPORT_LIMITS = {
  bytes: 10_485_760,
  /** Without the header. */
  rows: 20_000,
  /** Columns of the file. */
  columns: 200,
  headerMaxChars: 200,
  cellMaxChars: 4_000,
  /** Rows that an answer shows of each group. */
  shown: 20,
  /** Problems that an answer shows. */
  problems: 100,
} as const

/**
 * What a column of the file becomes: `domain` or `name` find the company; `owner`, `status` and `tags` are facts about it; `text`, `number` and
 * `date` make an own column with the name of the file's; `own.KEY` is one that exists; empty: it is left out.
 */
export const IMPORT_TARGETS = ['domain', 'name', 'owner', 'status', 'tags', ...OWN_TYPES] as const

const Targets = Type.Record(
  Type.String({ maxLength: IMPORT_LIMITS.headerMaxChars }),
  Type.String({ maxLength: FACT_LIMITS.columnKeyMaxChars + 4 }),
  { maxProperties: IMPORT_LIMITS.columns },
)

/**
 * How to read a list. Everything may be left out. `POST /api/tenants/:tenant/companies/import` takes it as the first line of the body, before
 * the file.
 */
export const ImportChoice = Type.Object(
  {
    map: Type.Optional(Targets),
    /** Whether an empty cell removes the value of the company. Default: it leaves it. */
    clear_empty: Type.Optional(Type.Boolean()),
    date_order: Type.Optional(Type.Enum(['dmy', 'mdy'])),
    encoding: Type.Optional(Type.String({ maxLength: 40 })),
    /** Only shows what would happen. */
    dry_run: Type.Optional(Type.Boolean()),
    /** A UUID: a repeat with the same one changes nothing. */
    change_id: Type.Optional(Type.String({ pattern: '^[0-9a-f-]{36}$' })),
  },
  { additionalProperties: false },
)
export type ImportChoice = Static<typeof ImportChoice>

const Change = Type.Object({
  field: Type.String({ description: '`owner`, `status`, `tags`, or `own.KEY`' }),
  before: Type.String({ description: 'Tags are separated by commas' }),
  value: Type.String(),
})

/** A row of the list, and its company. */
export const ImportedRow = Type.Object(
  {
    line: Type.Integer({ description: 'In the file, from 1' }),
    key: Type.String({ description: 'The domain or name in the row' }),
    company_id: Type.String({ description: 'Empty: the row cannot be used' }),
    business_name: Type.String({ description: 'Name of the company; empty when it has not visited yet' }),
    name: Type.String({ deprecated: true, description: 'The name of `business_name` in version 0.2' }),
    changes: Type.Array(Change),
    reason: Type.String({ description: 'Why it cannot be used; otherwise empty' }),
  },
  { title: 'ImportedRow' },
)
export type ImportedRow = Static<typeof ImportedRow>

const Column = Type.Object({
  name: Type.String({ description: 'In the header of the file' }),
  target: Type.String({ description: 'What it becomes; empty: it is left out' }),
  example: Type.String({ description: 'Its first value' }),
  key: Type.String({ description: 'Of its own column; empty: it is none' }),
  is_new: Type.Boolean({ description: 'Whether it makes an own column' }),
})
export type ImportColumn = Static<typeof Column>

/** What a list of companies does, or did. */
export const ImportAnswer = Type.Object(
  {
    applied: Type.Boolean({ description: 'False: it was a dry run, or nothing changes' }),
    change_id: Type.Union([Type.String(), Type.Null()], { description: 'Undoes it; null when it was not applied' }),
    rows: Type.Integer({ description: 'Rows of the file, without its header and blank lines' }),
    matched: Type.Integer({ description: 'Rows of companies that have visited' }),
    waiting: Type.Integer({ description: 'Rows that are kept for companies that have not visited yet, by domain' }),
    unused: Type.Integer({ description: 'Rows that cannot be used' }),
    changed: Type.Integer({ description: 'Companies with a change, those that have not visited yet included' }),
    values: Type.Integer({ description: 'Values that change' }),
    cleared: Type.Integer({ description: 'Values among them that are removed' }),
    columns: Type.Array(Column),
    changed_rows: Type.Array(ImportedRow, { description: 'The first rows that change a company that has visited' }),
    waiting_rows: Type.Array(ImportedRow, { description: 'The first rows of companies that have not visited yet' }),
    unused_rows: Type.Array(ImportedRow, { description: 'The first rows that cannot be used' }),
    problems: Type.Array(Type.Object({ line: Type.Integer(), column: Type.String(), reason: Type.String() }), {
      description: 'The first values that cannot be used; the rest of their rows is',
    }),
    problem_count: Type.Integer(),
    problem: Type.Union([Type.String(), Type.Null()], {
      description: 'Why the list cannot be applied: no column finds the company. Only a dry run is answered with it',
    }),
  },
  { title: 'ImportAnswer' },
)
export type ImportAnswer = Static<typeof ImportAnswer>
