import { LOCALE } from '../texts/language.ts'

const DAY_MS = 86_400_000

/** UTC day of a time, `YYYY-MM-DD`. */
export const utcDay = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** All days of a span, both ends included. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = []
  for (let ms = Date.parse(from); ms <= Date.parse(to); ms += DAY_MS) days.push(utcDay(ms))
  return days
}

/** The UTC day this many days before today. */
export const daysAgo = (days: number, nowMs = Date.now()) => utcDay(nowMs - days * DAY_MS)

const regions = new Intl.DisplayNames(LOCALE, { type: 'region', fallback: 'code' })

/** The name of a country; the code itself when unknown. */
export function country(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code
}
