import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  LINE_FEED,
  LOWER_A,
  LOWER_E,
  LOWER_F,
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
 * Scans JSON text once without building values: the live path reads events with it, and error messages get their position from it.
 * It accepts only what JSON.parse accepts (RFC 8259).
 *
 * It reads code units from an array, because V8 checks a string's representation at each character, which doubles the time. A 0
 * after the last unit ends every loop.
 */

/** UTF-16 code units of a text, followed by a 0. */
export type CodeUnits = Uint16Array

/** Longer texts, which are rare, get units of their own, so that the memory is freed. */
const KEPT_UNITS_MAX = 2 ** 21

/** Buffer for the text that is scanned, and the final 0. */
let units = new Uint16Array(65_536)
let bytes = Buffer.from(units.buffer)

/** The code units of a text. Valid until the next call. */
export function codesOf(text: string): CodeUnits {
  const { length } = text
  if (length >= KEPT_UNITS_MAX) {
    const own = new Uint16Array(length + 1)
    Buffer.from(own.buffer).write(text, 'utf16le')
    return own
  }
  if (length >= units.length) {
    units = new Uint16Array(2 ** Math.ceil(Math.log2(length + 1)))
    bytes = Buffer.from(units.buffer)
  }
  bytes.write(text, 'utf16le')
  units[length] = 0
  return units
}

/** The code units of a word, for `startsWith`. */
export function unitsOf(word: string): readonly number[] {
  return Array.from(word, (char) => char.charCodeAt(0))
}

/** Whether the text has `word` at `at`. */
export function startsWith(codes: CodeUnits, at: number, word: readonly number[]): boolean {
  for (let i = 0; i < word.length; i++) if (codes[at + i] !== word[i]) return false
  return true
}

/** Result of `skipPlainString` and `skipInteger` when they do not find what they expect. */
export const NONE = -1

const ESCAPED = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)))

/** A number holds the open objects (1) and arrays (0) as bits, below a leading 1. */
const OUTERMOST = 1
const DEEPEST = 2 ** 30

/** Whether the scan has seen escapes, or white space other than spaces, since the last reset. */
let special = false

/** The position after the white space at `at`. */
export function skipSpace(codes: CodeUnits, at: number): number {
  let i = at
  for (;;) {
    const code = codes[i]!
    if (code > SPACE) return i
    if (code !== SPACE) {
      if (code !== LINE_FEED && code !== RETURN && code !== TAB) return i
      special = true
    }
    i++
  }
}

/** The position after the string at `at`; NONE if it has escapes or is invalid. */
export function skipPlainString(codes: CodeUnits, at: number): number {
  for (let i = at + 1; ; i++) {
    const code = codes[i]!
    if (code === QUOTE) return i + 1
    if (code === BACKSLASH || !(code >= SPACE)) return NONE
  }
}

/** The position after the whole number at `at`; NONE if it is invalid, -0, or has more digits than `digitsMax`. */
export function skipInteger(codes: CodeUnits, at: number, digitsMax: number): number {
  const first = codes[at]! === MINUS ? at + 1 : at
  const code = codes[first]!
  if (code === ZERO) return first === at && !continuesNumber(codes[at + 1]!) ? at + 1 : NONE
  const end = skipDigits(codes, first)
  return end === first || end - first > digitsMax || continuesNumber(codes[end]!) ? NONE : end
}

function continuesNumber(code: number): boolean {
  return code === DOT || code === LOWER_E || code === UPPER_E || (code >= ZERO && code <= NINE)
}

/**
 * The position after the value of any type at `at`; the complement (`~`) of the position of an error. Afterwards `isSpecial` says whether
 * it has escapes or line breaks.
 * @param outer an empty array that takes levels above the 30th; undefined: a value with more levels is an error
 */
export function skipValue(codes: CodeUnits, at: number, outer?: number[]): number {
  special = false
  let open = OUTERMOST
  let i = at
  for (;;) {
    const code = codes[i]!
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (open >= DEEPEST) {
        if (outer === undefined) return ~i
        outer.push(open)
        open = OUTERMOST
      }
      const isObject = code === OPEN_BRACE
      open = open * 2 + (isObject ? 1 : 0)
      i = skipSpace(codes, i + 1)
      if (codes[i]! !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
        if (isObject) i = skipKey(codes, i)
        if (i < 0) return i
        continue
      }
      i++
      open >>= 1
    } else {
      i = code === QUOTE ? skipString(codes, i) : skipScalar(codes, i, code)
      if (i < 0) return i
    }
    for (; ; i++, open >>= 1) {
      if (open === OUTERMOST) {
        if (outer === undefined || outer.length === 0) return i
        open = outer.pop()!
      }
      i = skipSpace(codes, i)
      const next = codes[i]!
      if (next === COMMA) break
      if (next !== ((open & 1) === 1 ? CLOSE_BRACE : CLOSE_BRACKET)) return ~i
    }
    i = skipSpace(codes, i + 1)
    if ((open & 1) === 1) i = skipKey(codes, i)
    if (i < 0) return i
  }
}

/** Whether the last value of `skipValue` has escapes, or white space other than spaces. */
export function isSpecial(): boolean {
  return special
}

/** The start of the value of the member whose key is at `at`; `~` of the position of an error. */
function skipKey(codes: CodeUnits, at: number): number {
  if (codes[at]! !== QUOTE) return ~at
  const end = skipString(codes, at)
  if (end < 0) return end
  const colon = skipSpace(codes, end)
  return codes[colon]! === COLON ? skipSpace(codes, colon + 1) : ~colon
}

function skipString(codes: CodeUnits, at: number): number {
  for (let i = at + 1; ; i++) {
    const code = codes[i]!
    if (code === QUOTE) return i + 1
    if (code === BACKSLASH) {
      special = true
      const backslash = i
      const escaped = codes[++i]!
      if (escaped === LOWER_U) {
        for (const end = i + 4; i < end; ) if (!isHex(codes[++i]!)) return ~backslash
      } else if (!ESCAPED.has(escaped)) return ~backslash
    } else if (!(code >= SPACE)) return ~i
  }
}

function isHex(code: number): boolean {
  const lower = code | 32
  return (code >= ZERO && code <= NINE) || (lower >= LOWER_A && lower <= LOWER_F)
}

function skipScalar(codes: CodeUnits, at: number, first: number): number {
  if (first === MINUS || (first >= ZERO && first <= NINE)) return skipNumber(codes, at)
  for (const word of WORDS) {
    let same = 0
    while (same < word.length && codes[at + same] === word[same]) same++
    if (same > 0) return same === word.length ? at + same : ~(at + same)
  }
  return ~at
}

const WORDS = ['true', 'false', 'null'].map(unitsOf)

function skipNumber(codes: CodeUnits, at: number): number {
  const start = codes[at]! === MINUS ? at + 1 : at
  let i = codes[start]! === ZERO ? start + 1 : skipDigits(codes, start)
  if (i === start) return ~start
  if (codes[i]! === DOT) {
    const fraction = skipDigits(codes, i + 1)
    if (fraction === i + 1) return ~i
    i = fraction
  }
  const code = codes[i]!
  if (code !== LOWER_E && code !== UPPER_E) return i
  const sign = codes[i + 1]!
  const exponent = sign === PLUS || sign === MINUS ? i + 2 : i + 1
  const end = skipDigits(codes, exponent)
  return end === exponent ? ~i : end
}

function skipDigits(codes: CodeUnits, at: number): number {
  let i = at
  for (;;) {
    const code = codes[i]!
    if (!(code >= ZERO && code <= NINE)) return i
    i++
  }
}
