import { DATABASE } from '../stores/clickhouse/client.ts'
import type { OfTenant } from '../stores/clickhouse/reader.ts'
import { CORRECTIONS, EVENTS } from '../stores/clickhouse/tables.ts'

/*
 * Names of a WITH clause hide tables and views of the same name, also in subqueries. So a query of `list.ts` runs unchanged on the events
 * and corrections of a past moment. It reads rows and not projections: use it for some companies, not for all.
 */

const MOMENT = "fromUnixTimestamp64Milli({state_at:Int64}, 'UTC')"
/** A * leaves out computed columns. */
const COMPUTED = [
  'url',
  'page',
  'touch',
  'referrer',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'company',
  'visitor',
  'visit',
].join(', ')

/** Like the view of this name, without columns that no filter needs. */
const CORRECTED = `
  SELECT
    tenant_id,
    company_id,
    argMaxIf(value, (at, change_id), field = 'hidden') != '' AS is_hidden,
    argMaxIf(value, (at, change_id), field = 'name') AS name,
    argMaxIf(value, (at, change_id), field = 'counts_for') AS counts_for,
    arrayFilter(tag -> tag != '', splitByChar('\\n', argMaxIf(value, (at, change_id), field = 'tags'))) AS tags,
    argMaxIf(value, (at, change_id), field = 'owner') AS owner,
    argMaxIf(value, (at, change_id), field = 'status') AS status,
    map('', '') AS own
  FROM ${CORRECTIONS}
  GROUP BY tenant_id, company_id`

/** A query of the lists of companies, on the events received and the corrections made up to a moment. It must read `fromEvents`, and not begin with WITH. */
export function stateAt(
  { query, parameters }: { readonly query: string; readonly parameters: OfTenant },
  atMs: number,
): { readonly query: string; readonly parameters: OfTenant } {
  const of = (table: string, columns: string, time: string) =>
    `${table} AS (SELECT ${columns} FROM ${DATABASE}.${table} WHERE tenant_id = {tenant:String} AND ${time} <= ${MOMENT})`
  return {
    query: `
      WITH
        ${of(EVENTS.name, `*, ${COMPUTED}`, 'received_at')},
        ${of(CORRECTIONS, '*', 'at')},
        corrected_companies AS (${CORRECTED})
      ${query}`,
    parameters: { ...parameters, state_at: atMs },
  }
}
