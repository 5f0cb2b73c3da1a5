import type { CompanyHeat } from '../../schemas/companies.ts'
import { countsForOf, IN_COMPANIES } from './corrected.ts'
import { IS_INTENT_PAGE, MAY_BE_INTENT_PAGE, WITH_INTENT_PAGES } from './is-intent-page.ts'

/** UTC days that a heat counts, today included. */
export const HEAT_DAYS = 30

const TODAY = "toDate32(now('UTC'))"
const DAY_BIT = `bitShiftLeft(toUInt32(1), toUInt8(toInt32(${TODAY}) - toInt32(toDate32(timestamp))))`

/**
 * Heat of the companies of the tenant that have some, by company: the others have 0. The same as the view `company_heat`, which would read
 * the events of all companies for a few.
 * @param of more conditions on events
 */
export const heatSql = (of = '') => `
  SELECT
    company_id,
    recency + frequency + depth + intent AS heat,
    toUInt8(round(30 * exp2(-days_ago / 7))) AS recency,
    toUInt8(round(30 * least(1, log2(1 + active_days) / 4))) AS frequency,
    toUInt8(round(15 * least(1, log2(1 + events_per_day) / 5))) AS depth,
    toUInt8(round(25 * least(1, log2(1 + intent_days) / 3))) AS intent,
    bitCount(day_bits) AS active_days,
    heat_events / active_days AS events_per_day,
    bitCount(intent_bits) AS intent_days,
    bitCount(bitXor(day_bits, day_bits - 1)) - 1 AS days_ago
  FROM
  (
    SELECT
      ${countsForOf('part_id')} AS company_id,
      groupBitOr(part_days) AS day_bits,
      groupBitOr(part_intents) AS intent_bits,
      sum(part_events) AS heat_events
    FROM
    (
      WITH ${WITH_INTENT_PAGES}
      SELECT
        company_id AS part_id,
        groupBitOr(${DAY_BIT}) AS part_days,
        groupBitOrIf(${DAY_BIT}, if(${MAY_BE_INTENT_PAGE}, ${IS_INTENT_PAGE}, 0)) AS part_intents,
        count() AS part_events
      FROM events
      WHERE tenant_id = {tenant:String} AND company_id > ''${of}
        AND toDate32(timestamp) > ${TODAY} - toIntervalDay(${HEAT_DAYS}) AND toDate32(timestamp) <= ${TODAY}
      GROUP BY part_id
    )
    GROUP BY company_id
  )
  WHERE company_id NOT IN (SELECT company_id FROM corrected_companies WHERE tenant_id = {tenant:String} AND is_hidden)`

/** Heat of the companies in the parameter `companies`. */
export const HEAT_OF_THESE = heatSql(` AND ${IN_COMPANIES}`)

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
