/** Columns with the event as sent: the first of `events` in `clickhouse/tables/events.sql`. */
export const EVENT_COLUMNS = [
  'ip',
  'tenant_id',
  'event_id',
  'received_at',
  'timestamp',
  'event_type',
  'session_id',
  'platform',
  'properties',
  'user_properties',
  'extra',
  'account_id',
] as const

/** Columns that enrichment appends. */
export const ENRICHMENT_COLUMNS = [
  'company_id',
  'business_name',
  'org_name',
  'hostname',
  'domain',
  'industry',
  'industry_category',
  'classification',
  'country_code',
  'asn',
  'as_name',
  'quality',
] as const

/**
 * Last columns: the batch job, or the request of a live event; the source whose key the event came with; the domain of the work
 * e-mail address that came with it; whether that key was a browser key (`BROWSER_KEY`).
 */
export const ORIGIN_COLUMNS = ['job_id', 'request_id', 'source_id', 'known_domain', 'browser_key'] as const

/** Values of the column `browser_key`. An event with a browser key proves nothing about its visitor, so it has no `known_domain`. */
export const BROWSER_KEY = { no: 0, yes: 1, withWorkMail: 2 } as const

/**
 * All columns of `events`, in order. Rows end before the first of their last columns that are all empty: those of batch lines
 * before `request_id`, those of live events from earlier versions before `job_id`.
 */
export const ROW_COLUMNS = [...EVENT_COLUMNS, ...ENRICHMENT_COLUMNS, ...ORIGIN_COLUMNS] as const
export type RowColumn = (typeof ROW_COLUMNS)[number]

/** These columns identify a stored row. They are adjacent. */
export const ROW_IDENTITY = ['tenant_id', 'event_id', 'received_at'] as const satisfies readonly RowColumn[]
