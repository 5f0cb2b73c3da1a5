import { randomBytes } from 'node:crypto'

/** Crockford's base 32, lower case: its digits sort, and are not easily confused. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_DIGITS = 9
const NUMBER_DIGITS = 4
const NUMBERS = 32 ** NUMBER_DIGITS
/** All pairs of digits, in order. */
const PAIRS = Array.from({ length: 1_024 }, (_, i) => DIGITS[i >> 5]! + DIGITS[i & 31])

let maker: string | undefined
let next = 0
/** The last time that was converted to digits. */
let time = { ms: Number.NaN, digits: '' }

/**
 * Makes an id for a request that has none: 18 characters from milliseconds, a counter and the process. Ids sort by time and
 * take few bytes when stored.
 */
export function makeRequestId(nowMs: number = Date.now()): string {
  maker ??= Array.from(randomBytes(5), (byte) => DIGITS[byte % 32]).join('')
  next = (next + 1) % NUMBERS
  if (time.ms !== nowMs) time = { ms: nowMs, digits: inDigits(nowMs, TIME_DIGITS) }
  return `${time.digits}${PAIRS[next >> 10]}${PAIRS[next & 1_023]}${maker}`
}

function inDigits(value: number, count: number): string {
  let text = ''
  let rest = Math.floor(value)
  for (let i = 0; i < count; i++) {
    text = DIGITS[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}
