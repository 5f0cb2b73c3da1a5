/**
 * Columns of `outcomes` in `clickhouse/0003_outcomes.sql`, in their order: so many events of a tenant and day of receipt,
 * and what became of them. All but the last tell a row from all others.
 */
export const OUTCOME_COLUMNS = [
  'source',
  'tenant_id',
  'day',
  'job_id',
  'status',
  'reason',
  'classification',
  'events',
] as const

/**
 * What becomes of events beside being stored, or dropped by a stage, whose reason is the status then; see
 * schemas/README.md, Outcomes.
 */
export const OUTCOME_STATUS = {
  filtered: 'filtered',
  invalidIp: 'invalid_ip',
  rejected: 'rejected',
  dead: 'dead',
} as const
