import { OUTCOME_COLUMNS } from '../../../schemas/outcome.ts'
import { ROW_COLUMNS, type ROW_IDENTITY } from '../../../schemas/row.ts'

/** A table that a sink inserts into. */
export interface TargetTable {
  readonly name: string
  /** In the order of its rows. */
  readonly columns: readonly [string, ...string[]]
  /** The columns that identify a row, as name and type. They are adjacent in a row. */
  readonly identity: Readonly<Record<string, string>>
  /** The column of the identity with an index. */
  readonly finder: string
  /** The column of the identity that partitions depend on. */
  readonly time: string
  /** Another table that a stored row may have moved to. */
  readonly movesTo?: string
}

/** Events that left `EVENTS` as noise and can come back, with the same columns (src/operations/reenrich/README.md). */
export const HIDDEN = 'hidden_events'

export const EVENTS: TargetTable = {
  name: 'events',
  columns: [...ROW_COLUMNS],
  identity: { tenant_id: 'String', event_id: 'String', received_at: "DateTime64(3, 'UTC')" } satisfies Record<
    (typeof ROW_IDENTITY)[number],
    string
  >,
  finder: 'event_id',
  time: 'received_at',
  movesTo: HIDDEN,
}

/** The table of corrections by people. No sink inserts into it. */
export const CORRECTIONS = 'company_corrections'

/** The log of rules that hid events of companies, and of events shown again. */
export const HIDDEN_CHANGES = 'hidden_changes'

export const OUTCOMES: TargetTable = {
  name: 'outcomes',
  columns: [...OUTCOME_COLUMNS],
  identity: {
    source: 'String',
    tenant_id: 'String',
    day: 'Date32',
    job_id: 'String',
    status: 'String',
    reason: 'String',
    classification: 'String',
    source_id: 'String',
  } satisfies Record<Exclude<(typeof OUTCOME_COLUMNS)[number], 'events'>, string>,
  finder: 'source',
  time: 'day',
}

/** Numbers of closed days, derived from `EVENTS`: of companies and accounts, and of pages (src/days/README.md). */
export const ENTITY_DAYS = 'entity_days'
export const PAGE_DAYS = 'page_days'
/** The same of companies, and of pages, cut at midnight of a tenant's time zone. */
export const ZONE_DAYS = 'zone_days'
export const ZONE_PAGE_DAYS = 'zone_page_days'
export const UTC_DAY_TABLES = [ENTITY_DAYS, PAGE_DAYS] as const
export const ZONE_DAY_TABLES = [ZONE_DAYS, ZONE_PAGE_DAYS] as const
export const DAY_TABLES = [...UTC_DAY_TABLES, ...ZONE_DAY_TABLES] as const

/** Tables that only `migrate` creates. */
export const OUR_TABLES: ReadonlySet<string> = new Set([
  ...[EVENTS.name, HIDDEN, OUTCOMES.name],
  ...[CORRECTIONS, HIDDEN_CHANGES, ...DAY_TABLES],
])
