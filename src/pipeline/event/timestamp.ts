const PATTERN = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** The range of ClickHouse's DateTime64. */
const MIN_MS = Date.UTC(1900, 0, 1)
const MAX_MS = Date.UTC(2299, 11, 31, 23, 59, 59, 999)

/**
 * Reads an RFC 3339 date-time into milliseconds since the Unix epoch. Cuts off digits beyond milliseconds; a leap second becomes
 * the next second. NaN for any other text, and outside the years 1900 to 2299.
 */
export function parseTimestamp(text: string): number {
  const usual = parseUsual(text)
  if (usual !== undefined) return usual
  const match = PATTERN.exec(text)
  if (match === null) return Number.NaN
  const year = Number(match[1])
  const month = Number(match[2])
  const day = Number(match[3])
  const hour = Number(match[4])
  const minute = Number(match[5])
  const second = Number(match[6])
  if (month < 1 || month > 12 || day < 1 || day > DAYS[month - 1]!) return Number.NaN
  if (month === 2 && day === 29 && !isLeapYear(year)) return Number.NaN
  if (hour > 23 || minute > 59 || second > 60) return Number.NaN
  let offsetMinutes = 0
  if (match[8] !== undefined) {
    const offsetHour = Number(match[9])
    const offsetMinute = Number(match[10])
    if (offsetHour > 23 || offsetMinute > 59) return Number.NaN
    offsetMinutes = (match[8] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute)
  }
  const fraction = match[7]
  const millisecond = fraction === undefined || second === 60 ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0'))
  const local = Date.UTC(year, month - 1, day, hour, minute, second, millisecond)
  // Date.UTC reads the years 0 to 99 as 1900 to 1999.
  const ms = year < 100 ? Number.NaN : local - offsetMinutes * 60_000
  if (second === 60 && !isLeapSecond(ms)) return Number.NaN
  return ms >= MIN_MS && ms <= MAX_MS ? ms : Number.NaN
}

/** Start of the last day that was read. Most timestamps share it, and Date.UTC takes longer than reading all digits. */
let lastDay = { number: 0, ms: Number.NaN }

function dayMs(year: number, month: number, day: number): number {
  const number = (year * 100 + month) * 100 + day
  if (lastDay.number !== number) lastDay = { number, ms: Date.UTC(year, month - 1, day) }
  return lastDay.ms
}

const [MINUS, DOT, COLON, T, Z] = [...'-.:TZ'].map((char) => char.charCodeAt(0))

/** A fast path for `2026-11-21T10:20:30Z` and `2026-11-21T10:20:30.123Z` on days 1 to 28; undefined for everything else. */
function parseUsual(text: string): number | undefined {
  const { length } = text
  if (length !== 20 && length !== 24) return undefined
  if (text.charCodeAt(4) !== MINUS || text.charCodeAt(7) !== MINUS || text.charCodeAt(10) !== T) return undefined
  if (text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON || text.charCodeAt(length - 1) !== Z)
    return undefined
  const millisecond = length === 20 ? 0 : text.charCodeAt(19) === DOT ? digits(text, 20, 23) : Number.NaN
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 7)
  const day = digits(text, 8, 10)
  const hour = digits(text, 11, 13)
  const minute = digits(text, 14, 16)
  const second = digits(text, 17, 19)
  const isUsual =
    year >= 1900 && year <= 2299 && month >= 1 && month <= 12 && day >= 1 && day <= 28 && hour <= 23 && minute <= 59
  return isUsual && second <= 59 && millisecond <= 999
    ? dayMs(year, month, day) + ((hour * 60 + minute) * 60 + second) * 1_000 + millisecond
    : undefined
}

/** NaN when the text has other characters. */
function digits(text: string, from: number, to: number): number {
  let value = 0
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** A leap second is the last one of a UTC day. Tables of them change, so every day may have one (RFC 3339 section 5.6). */
function isLeapSecond(followingMs: number): boolean {
  return followingMs % 86_400_000 === 0
}
