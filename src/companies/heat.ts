import type { CompanyHeat } from '../../schemas/companies.ts'

/** Heat of the companies that have some, by company: the others have 0. @param of more conditions on `company_id` */
export const heatSql = (of = '') => `
  SELECT
    company_id, heat, recency, frequency, depth, intent, active_days, events_per_day, intent_days,
    dateDiff('day', last_day, toDate32(now('UTC'))) AS days_ago
  FROM company_heat
  WHERE tenant_id = {tenant:String}${of}`

/** Heat of the companies in the parameter `companies`. */
export const HEAT_OF_THESE = heatSql(' AND company_id IN {companies:Array(String)}')

/** A row of `heatSql`. */
export type HeatRow = CompanyHeat & { readonly company_id: string }

/** Only the columns of the schema; null for a company without an event in these days. */
export function heatOf(row: HeatRow | undefined): CompanyHeat | null {
  if (row === undefined) return null
  const { company_id: _, ...heat } = row
  return { ...heat, events_per_day: Math.round(heat.events_per_day * 10) / 10 }
}
