import { addDays, dayIn, daysFrom, isSameZone, momentIn, ownZone, UTC } from '../../../run/time-zone.ts'
import { LOCALE } from '../texts/language.ts'

let zone = UTC

/** Days are those of this zone from now on: that of the workspace whose pages are shown. */
export function setZone(next: string): void {
  zone = next
}

/** Whether days of the workspace are those of UTC. */
export const isInUtc = () => zone === UTC || isSameZone(zone, UTC)

/** The zone of the workspace, where it is not that of the reader. */
export const otherZone = (): string | undefined => (isSameZone(zone, ownZone()) ? undefined : zone)

/** A text about days, with their zone where it is not that of the reader: "Day (UTC)". */
export function withZone(text: string): string {
  const other = otherZone()
  return other === undefined ? text : `${text} (${other})`
}

/** UTC day of a time, `YYYY-MM-DD`. */
export const utcDay = (ms: number) => dayIn(UTC, ms)

/** The day of a moment in the workspace. @param iso ISO 8601 */
export const dayOf = (iso: string) => dayIn(zone, Date.parse(iso))

/** The moment of a time of day today in the workspace. @param time `HH:MM` */
export const momentToday = (time: string) => new Date(momentIn(zone, daysAgo(0), time))

/** A time of day in the workspace. */
export const timeOfDay = (iso: string) =>
  new Intl.DateTimeFormat(LOCALE, { hour: 'numeric', minute: '2-digit', timeZone: zone }).format(new Date(iso))

/** All days of a span, both ends included. */
export function daysBetween(from: string, to: string): string[] {
  return Array.from({ length: Math.max(0, daysFrom(from, to) + 1) }, (_, i) => addDays(from, i))
}

/** The day of the workspace this many days before today. */
export const daysAgo = (days: number, nowMs = Date.now()) => addDays(dayIn(zone, nowMs), -days)

const regions = new Intl.DisplayNames(LOCALE, { type: 'region', fallback: 'code' })

/** The name of a country; the code itself when unknown. */
export function country(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code
}
