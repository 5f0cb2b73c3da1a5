import { type DayRange, daysOfRange, isRangeName, type RangeName } from '../design/ranges.ts'
import type { UrlChange } from './url-state.ts'

const DAY = /^\d{4}-\d{2}-\d{2}$/
const DEFAULT_RANGE: RangeName = '7d'

/** The days that the URL of a page names. Ignores invalid values, because links may be cut off or typed. */
export function pageDays(state: URLSearchParams): { readonly range: RangeName | DayRange; readonly days: DayRange } {
  const [named, from, to] = ['days', 'from', 'to'].map((name) => state.get(name) ?? '')
  const isDay = (text: string) => DAY.test(text) && !Number.isNaN(Date.parse(text))
  if (isDay(from!) && isDay(to!)) return { range: { from: from!, to: to! }, days: { from: from!, to: to! } }
  const range = isRangeName(named!) ? named : DEFAULT_RANGE
  return { range, days: daysOfRange(range) }
}

/** The part of a URL that names these days. */
export function pageDaysChange(range: RangeName | DayRange): UrlChange {
  if (typeof range !== 'string') return { days: '', ...range }
  return { days: range === DEFAULT_RANGE ? '' : range, from: '', to: '' }
}
