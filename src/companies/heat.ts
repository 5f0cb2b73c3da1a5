import type { CompanyHeat } from '../../schemas/companies.ts'
import { DEFAULT_HEAT_WEIGHTS, HEAT_PARTS, HEAT_POINTS, type HeatWeights } from '../../schemas/dashboard/heat.ts'
import { InputError } from '../run/errors.ts'
import { type CompanyCondition, type Corrected, isVisible, knownCompanies } from './corrected.ts'
import { companyDays, pageDays, type ReadBasis, todayIn, type Within } from './days.ts'

/** Days that a heat counts, today included. */
export const HEAT_DAYS = 30

const lastDays = (today: string): Within => ({ from: `${today} - ${HEAT_DAYS - 1}`, to: today })
const daysAsBits = (today: string) => `groupBitOr(bitShiftLeft(toUInt32(1), toUInt8(toInt32(${today}) - toInt32(day))))`

/** Condition on the pages that show an intent to buy. Around a union, ClickHouse finds these pages once, and still reads only their rows. */
export const ARE_INTENT_PAGES = 'page IN (SELECT page FROM read_intent_pages WHERE tenant_id = {tenant:String})'

/**
 * Heat weights as they are kept, which people read in the history: `recency=30 frequency=30 depth=15 intent=25`.
 * @throws InputError when they do not add up to `HEAT_POINTS`
 */
export function formatHeatWeights(weights: HeatWeights): string {
  const sum = HEAT_PARTS.reduce((all, part) => all + weights[part], 0)
  if (sum !== HEAT_POINTS) throw new InputError(`the points must add up to ${HEAT_POINTS}, and these are ${sum}`)
  return HEAT_PARTS.map((part) => `${part}=${weights[part]}`).join(' ')
}

const WEIGHTS = /^recency=(\d{1,3}) frequency=(\d{1,3}) depth=(\d{1,3}) intent=(\d{1,3})$/

/** The points of each part of heat. A text that is no weights, for example one of a later version, means the default ones. */
export function heatWeightsOf({ heat_weights: text = '' }: Pick<Corrected, 'heat_weights'>): HeatWeights {
  const points = WEIGHTS.exec(text)?.slice(1).map(Number) ?? []
  if (points.reduce((all, each) => all + each, 0) !== HEAT_POINTS) return DEFAULT_HEAT_WEIGHTS
  return Object.fromEntries(HEAT_PARTS.map((part, i) => [part, points[i]!])) as unknown as HeatWeights
}

/** Heat of the companies of the tenant that have some, by the number of the company: the others have 0. In UTC as in the view `company_heat`. */
export const heatSql = (basis: ReadBasis, of: CompanyCondition = knownCompanies(basis)) => {
  const weights = heatWeightsOf(basis)
  const today = todayIn(basis.zone)
  return `
  SELECT
    company,
    recency + frequency + depth + intent AS heat,
    toUInt8(round(${weights.recency} * exp2(-days_ago / 7))) AS recency,
    toUInt8(round(${weights.frequency} * least(1, log2(1 + active_days) / 4))) AS frequency,
    toUInt8(round(${weights.depth} * least(1, log2(1 + events_per_day) / 5))) AS depth,
    toUInt8(round(${weights.intent} * least(1, log2(1 + intent_days) / 3))) AS intent,
    bitCount(day_bits) AS active_days,
    heat_events / active_days AS events_per_day,
    bitCount(intent_bits) AS intent_days,
    bitCount(bitXor(day_bits, day_bits - 1)) - 1 AS days_ago
  FROM
  (
    SELECT company, ${daysAsBits(today)} AS day_bits, sum(events) AS heat_events
    FROM (${companyDays(basis, { companies: of, within: lastDays(today) })})
    GROUP BY company
  ) AS days
  LEFT JOIN
  (
    SELECT company, ${daysAsBits(today)} AS intent_bits
    FROM (${pageDays(basis, { companies: of, within: lastDays(today) })})
    WHERE ${ARE_INTENT_PAGES}
    GROUP BY company
  ) AS intents USING company
  WHERE ${isVisible(basis, 'company')}`
}

/** How the heat of the companies of the tenant is spread: null without a company that has some. */
export const heatLevelsSql = (basis: ReadBasis) => `
  SELECT
    if(count() = 0, NULL, quantileExact(0.5)(toInt32(heat))) AS median,
    if(count() = 0, NULL, quantileExact(0.9)(toInt32(heat))) AS top
  FROM (${heatSql(basis)})
  WHERE heat > 0`

/** A row of `heatSql`. */
export type HeatRow = CompanyHeat

/** The activity of a company on a day with events. */
export interface HeatDay {
  /** Days before the day of the heat; 0: that day. */
  readonly ago: number
  readonly events: number
  /** Whether an event has an intent page. */
  readonly hasIntent: boolean
}

/** The heat of a day, which the view has of today only, by the same formula; null without an event in its 30 days. */
export function heatOfDays(days: readonly HeatDay[], weights: HeatWeights): CompanyHeat | null {
  const counted = days.filter(({ ago }) => ago >= 0 && ago < HEAT_DAYS)
  if (counted.length === 0) return null
  const share = (value: number, most: number) => Math.min(1, Math.log2(1 + value) / Math.log2(1 + most))
  const active_days = counted.length
  const intent_days = counted.filter(({ hasIntent }) => hasIntent).length
  const days_ago = Math.min(...counted.map(({ ago }) => ago))
  const events_per_day = counted.reduce((sum, { events }) => sum + events, 0) / active_days
  const recency = toEven(weights.recency * 2 ** (-days_ago / 7))
  const frequency = toEven(weights.frequency * share(active_days, 15))
  const depth = toEven(weights.depth * share(events_per_day, 31))
  const intent = toEven(weights.intent * share(intent_days, 7))
  return {
    ...{ heat: recency + frequency + depth + intent, recency, frequency, depth, intent },
    ...{ active_days, events_per_day: rounded(events_per_day), intent_days, days_ago },
  }
}

/** Only the columns of the schema; null for a company without an event in these days. */
export function heatOf(row: HeatRow | undefined): CompanyHeat | null {
  if (row === undefined) return null
  const { heat, recency, frequency, depth, intent, active_days, events_per_day, intent_days, days_ago } = row
  return {
    ...{ heat, recency, frequency, depth, intent, active_days, intent_days, days_ago },
    events_per_day: rounded(events_per_day),
  }
}

/** ClickHouse rounds 22.5, as for seven days, to 22. */
function toEven(points: number): number {
  const nearest = Math.round(points)
  return nearest - points === 0.5 && nearest % 2 === 1 ? nearest - 1 : nearest
}

function rounded(eventsPerDay: number): number {
  return Math.round(eventsPerDay * 10) / 10
}
