import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  LINE_FEED,
  LOWER_E,
  LOWER_U,
  MINUS,
  NINE,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  RETURN,
  SPACE,
  TAB,
  UPPER_E,
  ZERO,
} from './json-codes.ts'

/*
 * Goes over JSON text once, and tells valid values from all else as JSON.parse does (RFC 8259), without building them. What
 * is valid and unusual, such as a value nested very deep, it may leave to others.
 */

/** Nothing valid stands there, or nothing usual: no position is behind it. */
export const NONE = -1

const ESCAPED = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)))
const HEX = /^[\da-f]{4}$/i

/** Open objects and arrays are the bits of a number, below its highest one; a set bit is an object. */
const OUTERMOST = 1
const DEEPEST = 2 ** 30

/** Whether there were escapes, or white space other than spaces, since it was reset. */
let special = false

/** Where the white space ends that begins at `at`. */
export function behindSpace(text: string, at: number): number {
  let i = at
  for (;;) {
    const code = text.charCodeAt(i)
    if (code > SPACE) return i
    if (code !== SPACE) {
      if (code !== LINE_FEED && code !== RETURN && code !== TAB) return i
      special = true
    }
    i++
  }
}

/** The position behind a string without escapes whose quote is at `at`; NONE. */
export function behindPlainString(text: string, at: number): number {
  for (let i = at + 1; ; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) return i + 1
    // Behind the end it is not a number.
    if (code === BACKSLASH || !(code >= SPACE)) return NONE
  }
}

/** The position behind a whole number of at most so many digits; NONE. Of 0 there is no negative. */
export function behindInteger(text: string, at: number, digitsMax: number): number {
  const first = text.charCodeAt(at) === MINUS ? at + 1 : at
  const code = text.charCodeAt(first)
  if (code === ZERO) return first === at && !continuesNumber(text.charCodeAt(at + 1)) ? at + 1 : NONE
  const end = behindDigits(text, first)
  return end === first || end - first > digitsMax || continuesNumber(text.charCodeAt(end)) ? NONE : end
}

function continuesNumber(code: number): boolean {
  return code === DOT || code === LOWER_E || code === UPPER_E || (code >= ZERO && code <= NINE)
}

/**
 * The position behind the value that begins at `at`, whatever it is; NONE. With `isSpecial` it can be asked whether the value has
 * escapes or line breaks.
 */
export function behindValue(text: string, at: number): number {
  special = false
  let open = OUTERMOST
  let i = at
  for (;;) {
    const code = text.charCodeAt(i)
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (open >= DEEPEST) return NONE
      const isObject = code === OPEN_BRACE
      open = open * 2 + (isObject ? 1 : 0)
      i = behindSpace(text, i + 1)
      if (text.charCodeAt(i) !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
        if (isObject) i = behindKey(text, i)
        if (i < 0) return NONE
        continue
      }
      i++
      open >>= 1
    } else {
      i = code === QUOTE ? behindString(text, i) : behindScalar(text, i, code)
      if (i < 0) return NONE
    }
    for (; ; i++, open >>= 1) {
      if (open === OUTERMOST) return i
      i = behindSpace(text, i)
      const next = text.charCodeAt(i)
      if (next === COMMA) break
      if (next !== ((open & 1) === 1 ? CLOSE_BRACE : CLOSE_BRACKET)) return NONE
    }
    i = behindSpace(text, i + 1)
    if ((open & 1) === 1) i = behindKey(text, i)
    if (i < 0) return NONE
  }
}

/** Of the value that `behindValue` went over last. */
export function isSpecial(): boolean {
  return special
}

/** Where the value of the member begins whose key is at `at`; NONE. */
function behindKey(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) return NONE
  const end = behindString(text, at)
  if (end < 0) return NONE
  const colon = behindSpace(text, end)
  return text.charCodeAt(colon) === COLON ? behindSpace(text, colon + 1) : NONE
}

function behindString(text: string, at: number): number {
  for (let i = at + 1; ; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) return i + 1
    if (code === BACKSLASH) {
      special = true
      const escaped = text.charCodeAt(++i)
      if (escaped === LOWER_U) {
        if (!HEX.test(text.slice(i + 1, i + 5))) return NONE
        i += 4
      } else if (!ESCAPED.has(escaped)) return NONE
    } else if (!(code >= SPACE)) return NONE
  }
}

function behindScalar(text: string, at: number, first: number): number {
  if (first === MINUS || (first >= ZERO && first <= NINE)) return behindNumber(text, at)
  for (const word of WORDS) if (text.startsWith(word, at)) return at + word.length
  return NONE
}

const WORDS = ['true', 'false', 'null']

function behindNumber(text: string, at: number): number {
  let i = text.charCodeAt(at) === MINUS ? at + 1 : at
  const digits = text.charCodeAt(i) === ZERO ? i + 1 : behindDigits(text, i)
  if (digits === i) return NONE
  i = digits
  if (text.charCodeAt(i) === DOT) {
    const fraction = behindDigits(text, i + 1)
    if (fraction === i + 1) return NONE
    i = fraction
  }
  const code = text.charCodeAt(i)
  if (code !== LOWER_E && code !== UPPER_E) return i
  const sign = text.charCodeAt(i + 1)
  const exponent = sign === PLUS || sign === MINUS ? i + 2 : i + 1
  const end = behindDigits(text, exponent)
  return end === exponent ? NONE : end
}

function behindDigits(text: string, at: number): number {
  let i = at
  for (;;) {
    const code = text.charCodeAt(i)
    if (!(code >= ZERO && code <= NINE)) return i
    i++
  }
}
