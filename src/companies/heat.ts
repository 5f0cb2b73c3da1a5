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

/** What a company did on a UTC day with events. */
export interface HeatDay {
  /** Days before the day of the heat; 0: that day. */
  readonly ago: number
  readonly events: number
  /** Whether an event has an intent page. */
  readonly hasIntent: boolean
}

/** UTC days that a heat counts, today included. */
export const HEAT_DAYS = 30

/** The heat of a day, which the view has of today only, by the same formula; null without an event in its 30 days. */
export function heatOfDays(days: readonly HeatDay[]): CompanyHeat | null {
  const counted = days.filter(({ ago }) => ago >= 0 && ago < HEAT_DAYS)
  if (counted.length === 0) return null
  const share = (value: number, most: number) => Math.min(1, Math.log2(1 + value) / Math.log2(1 + most))
  const active_days = counted.length
  const intent_days = counted.filter(({ hasIntent }) => hasIntent).length
  const days_ago = Math.min(...counted.map(({ ago }) => ago))
  const events_per_day = counted.reduce((sum, { events }) => sum + events, 0) / active_days
  const recency = toEven(30 * 2 ** (-days_ago / 7))
  const frequency = toEven(30 * share(active_days, 15))
  const depth = toEven(15 * share(events_per_day, 31))
  const intent = toEven(25 * share(intent_days, 7))
  return {
    ...{ heat: recency + frequency + depth + intent, recency, frequency, depth, intent },
    ...{ active_days, events_per_day: rounded(events_per_day), intent_days, days_ago },
  }
}

/** Only the columns of the schema; null for a company without an event in these days. */
export function heatOf(row: HeatRow | undefined): CompanyHeat | null {
  if (row === undefined) return null
  const { company_id: _, ...heat } = row
  return { ...heat, events_per_day: rounded(heat.events_per_day) }
}

/** ClickHouse rounds 22.5, as for seven days, to 22. */
function toEven(points: number): number {
  const nearest = Math.round(points)
  return nearest - points === 0.5 && nearest % 2 === 1 ? nearest - 1 : nearest
}

function rounded(eventsPerDay: number): number {
  return Math.round(eventsPerDay * 10) / 10
}
