import { LOCALE } from '../texts/language.ts'

const numbers = new Intl.NumberFormat(LOCALE)
const compact = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 })
const percents = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 1 })
const MOMENT = { day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' } as const
const times = new Intl.DateTimeFormat(LOCALE, MOMENT)
const timesOfOtherYears = new Intl.DateTimeFormat(LOCALE, { ...MOMENT, year: 'numeric' })
const days = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeZone: 'UTC' })
const shortDays = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const hours = new Intl.DateTimeFormat(LOCALE, { hour: 'numeric', minute: '2-digit' })
const clock = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' })
const plurals = new Intl.PluralRules(LOCALE)

/** 1234567 → 1,234,567 */
export const number = (value: number) => numbers.format(value)
/** 1234567 → 1.2M */
export const shortNumber = (value: number) => compact.format(value)
/** 0.123 → 12.3 %; 0.0001 → <0.1 %, because 0 % means none */
export const percent = (share: number) =>
  share > 0 && share < 0.0005 ? `<${percents.format(0.001)}` : percents.format(share)
/** In whole percent: 0.123 → 12 % */
export const wholePercent = (share: number) => percent(share < 0.005 ? share : Math.round(share * 100) / 100)

/** The forms of a noun by the plural rules of a language; `other` takes the place of a missing one. */
export type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string }

/** A number and its noun in the right form. Each language of `texts/` has a shorter form of it. */
export const counted = (value: number, forms: Forms) =>
  `${number(value)} ${forms[plurals.select(value)] ?? forms.other}`

/** "kept" → "Kept" */
export const capitalised = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** A time in the reader's zone, with the year unless it is the current one. */
export function time(iso: string, now = new Date()): string {
  const at = new Date(iso)
  return (at.getFullYear() === now.getFullYear() ? times : timesOfOtherYears).format(at)
}

/** Only the time, in the reader's zone. */
export const hourMinute = (at: Date) => hours.format(at)

/** With seconds, in the reader's zone. */
export const clockTime = (iso: string) => clock.format(new Date(iso))

/** `YYYY-MM-DD`, a day of any zone. */
export const day = (text: string) => days.format(new Date(`${text}T00:00:00Z`))

/** `YYYY-MM-DD` without its year: for days of the last weeks. */
export const shortDay = (text: string) => shortDays.format(new Date(`${text}T00:00:00Z`))

/** The time in UTC, as in logs. */
export function utc(iso: string): string {
  return `${new Date(iso).toISOString().replace('T', ' ').slice(0, 19)} UTC`
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** "3 minutes ago" */
export function ago(iso: string, nowMs = Date.now()): string {
  const seconds = (new Date(iso).getTime() - nowMs) / 1_000
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS[3]
  return relative.format(Math.round(seconds / size), unit)
}

const BYTES = ['B', 'KB', 'MB', 'GB', 'TB']

/** 1536 → 1.5 KB, in powers of 1024 */
export function bytes(value: number): string {
  const power = value < 1 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log2(value) / 10))
  const scaled = value / 1_024 ** power
  return `${numbers.format(Number(scaled.toFixed(scaled < 10 && power > 0 ? 1 : 0)))} ${BYTES[power]}`
}

const DURATION_UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** 93500 → 1.6 min; 0 → – */
export function duration(ms: number): string {
  if (ms <= 0) return '–'
  const [unit, size] = DURATION_UNITS.find(([, size]) => ms >= size) ?? ['ms', 1]
  const value = ms / size
  return `${number(value < 10 && size > 1 ? Math.round(value * 10) / 10 : Math.round(value))} ${unit}`
}
