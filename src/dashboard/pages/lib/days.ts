const DAY_MS = 86_400_000

/** A UTC day of a moment, `YYYY-MM-DD`. */
export const utcDay = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** All days of a span, the last one too. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = []
  for (let ms = Date.parse(from); ms <= Date.parse(to); ms += DAY_MS) days.push(utcDay(ms))
  return days
}

/** So many days before today. */
export const daysAgo = (days: number) => utcDay(Date.now() - days * DAY_MS)

const regions = new Intl.DisplayNames(undefined, { type: 'region', fallback: 'code' })

/** The name of a country by its code, or what is there instead. */
export function country(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code
}
