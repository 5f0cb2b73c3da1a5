import { parseTimestamp } from '../../../event/timestamp.ts'

/** How to read 01/02/2026: `dmy` as February 1st, `mdy` as January 2nd. */
export const DATE_ORDERS = ['dmy', 'mdy'] as const
export type DateOrder = (typeof DATE_ORDERS)[number]

/** `ambiguous`: the day or the month may come first. `rounded`: digits are missing, as in `1.79533E+12`. */
export type TimeProblem = 'ambiguous' | 'rounded' | 'unknown'

/** A time in the form that the API takes, or a problem. */
type ReadTime = { readonly time: string } | { readonly problem: TimeProblem }

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MONTH = `(${MONTHS.join('|')})[a-z]*\\.?`
const ZONE = '(?:\\s*(Z|UTC|GMT|[+-]\\d\\d(?::?\\d\\d)?))?'
const CLOCK = `(?:[T:,\\s]\\s*(\\d{1,2}):(\\d\\d)(?::(\\d\\d)(?:[.,](\\d+))?)?(?:\\s*([AP]M))?${ZONE})?`

/** `2026-11-22 08:00:00`, `2026/11/22` */
const YEAR_FIRST = new RegExp(`^(\\d{4})([-/.])(\\d{1,2})\\2(\\d{1,2})${CLOCK}$`, 'i')
/** `22/Nov/2026:08:00:00 +0000` of web servers, `Sun, 22 Nov 2026 08:00:00 GMT` of mail and HTTP */
const DAY_MONTH_NAME = new RegExp(`^(?:[a-z]{3,9},?\\s+)?(\\d{1,2})[-/\\s]${MONTH}[-/\\s,]\\s*(\\d{4})${CLOCK}$`, 'i')
/** `Nov 22, 2026 8:00 PM` */
const MONTH_NAME_DAY = new RegExp(`^${MONTH}\\s+(\\d{1,2}),?\\s+(\\d{4})${CLOCK}$`, 'i')
/** `22.11.2026`, `11/22/2026` */
const YEAR_LAST = new RegExp(`^(\\d{1,2})([-/.])(\\d{1,2})\\2(\\d{4})${CLOCK}$`, 'i')
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i
/** Spreadsheets show and save large numbers with at most this many digits. */
const ROUNDED_DIGITS_MAX = 6
/** Longest text to examine. Only RFC 3339 with a long fraction may be longer. */
const TIME_MAX_CHARS = 64

/**
 * Reads a timestamp in the usual forms of programs and spreadsheets. A time without a zone is UTC. RFC 3339 is returned unchanged.
 * @param order how to read a date like 01/02/2026; undefined: it is `ambiguous` if both readings exist
 */
export function readTime(text: string, order: DateOrder | undefined): ReadTime {
  if (!Number.isNaN(parseTimestamp(text))) return { time: text }
  if (text.length > TIME_MAX_CHARS) return { problem: 'unknown' }
  const number = NUMBER.exec(text)
  const ms = number === null ? calendarMs(text, order) : epochMs(number)
  if (typeof ms === 'string') return { problem: ms }
  // Refuse what the API refuses, for example a year after 2299.
  const time = Number.isNaN(new Date(ms).getTime()) ? '' : new Date(ms).toISOString()
  if (Number.isNaN(parseTimestamp(time))) return { problem: 'unknown' }
  return { time }
}

/**
 * Reads seconds, milliseconds, microseconds or nanoseconds since 1970; the number of whole digits tells which. Works on the
 * digits, because a double cannot hold them all.
 * @param number a match of `NUMBER`
 */
function epochMs(number: RegExpExecArray): number | TimeProblem {
  const [, sign, whole, fraction = '', exponent] = number
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const leadingZeros = whole!.length + fraction.length - digits.length
  const wholeDigits = whole!.length - leadingZeros + Number(exponent ?? 0)
  const msDigits = msDigitsOf(wholeDigits)
  if (msDigits === undefined) return 'unknown'
  if (exponent !== undefined && digits.length <= ROUNDED_DIGITS_MAX) return 'rounded'
  const ms = Number(digits.slice(0, msDigits).padEnd(msDigits, '0'))
  if (sign === '') return ms
  return /[1-9]/.test(digits.slice(msDigits)) ? -ms - 1 : -ms
}

/** The number of digits down to milliseconds; undefined when the number is not a plausible time. */
function msDigitsOf(wholeDigits: number): number | undefined {
  if (wholeDigits === 9 || wholeDigits === 10) return wholeDigits + 3
  for (const [digits, beyondMs] of [
    [12, 0],
    [15, 3],
    [18, 6],
  ] as const) {
    if (wholeDigits === digits || wholeDigits === digits + 1) return wholeDigits - beyondMs
  }
  return undefined
}

/** Milliseconds, or a problem. */
function calendarMs(text: string, order: DateOrder | undefined): number | TimeProblem {
  let match = YEAR_FIRST.exec(text)
  if (match !== null) return timeOf([match[1]!, match[3]!, match[4]!], match.slice(5))
  match = DAY_MONTH_NAME.exec(text)
  if (match !== null) return timeOf([match[3]!, monthNumber(match[2]!), match[1]!], match.slice(4))
  match = MONTH_NAME_DAY.exec(text)
  if (match !== null) return timeOf([match[3]!, monthNumber(match[1]!), match[2]!], match.slice(4))
  match = YEAR_LAST.exec(text)
  if (match === null) return 'unknown'
  const [, first, separator, second, year] = match as unknown as [string, string, string, string, string]
  // Countries that write dates with dots put the day first.
  const known = separator === '.' ? 'dmy' : (order ?? orderOf(Number(first), Number(second)))
  if (known === undefined) return 'ambiguous'
  const [day, month] = known === 'dmy' ? [first, second] : [second, first]
  return timeOf([year, month, day], match.slice(5))
}

function monthNumber(name: string): string {
  return String(MONTHS.indexOf(name.toLowerCase()) + 1)
}

/** Undefined when both orders are possible and differ. */
function orderOf(first: number, second: number): DateOrder | undefined {
  if (first > 12 || first === second) return 'dmy'
  return second > 12 ? 'mdy' : undefined
}

/** @param clock hour, minute, second, fraction, AM or PM, and zone; each may be missing */
function timeOf(
  date: readonly [year: string, month: string, day: string],
  clock: readonly string[],
): number | TimeProblem {
  const [hour = '0', minute = '00', second = '0', fraction = '0', half, zone = 'Z'] = clock
  const [year, month, day] = date
  const hours = half === undefined ? Number(hour) : hourOf(Number(hour), half)
  const offset = /^[+-]/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}` : 'Z'
  const time = `${two(hours)}:${minute}:${second.padStart(2, '0')}.${fraction}${offset}`
  const ms = parseTimestamp(`${year}-${two(month)}-${two(day)}T${time}`)
  return Number.isNaN(ms) ? 'unknown' : ms
}

function hourOf(hour: number, half: string): number {
  if (hour < 1 || hour > 12) return Number.NaN
  return (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0)
}

function two(value: string | number): string {
  return String(value).padStart(2, '0')
}
