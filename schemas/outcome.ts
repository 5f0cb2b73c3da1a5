/** Columns of `outcomes` in `clickhouse/tables/outcomes.sql`, in order. All but `events` identify a row. */
export const OUTCOME_COLUMNS = [
  'source',
  'tenant_id',
  'day',
  'job_id',
  'status',
  'reason',
  'classification',
  'events',
  'source_id',
] as const

/** Statuses of events that are neither stored nor dropped by a stage. A stage's drop reason is a status too (README.md, Outcomes). */
export const OUTCOME_STATUS = {
  filtered: 'filtered',
  invalidIp: 'invalid_ip',
  noIp: 'no_ip',
  noPage: 'no_page',
  rejected: 'rejected',
  dead: 'dead',
} as const
