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
} from '../../event/json-codes.ts'

/*
 * Goes over JSON text once, and tells valid values from all else as JSON.parse does (RFC 8259), without building them. What
 * is valid and unusual, such as a value nested very deep, it may leave to others.
 *
 * It reads code units from an array: V8 asks a string for its form at each character, which takes as long again. A unit of 0 behind
 * the last one ends all that is read here.
 */

/** UTF-16 code units of a text, and a 0 behind them. */
export type CodeUnits = Uint16Array

/** Room for the text that is scanned, and its end. */
let units = new Uint16Array(65_536)
let bytes = Buffer.from(units.buffer)

/** The code units of a text, until the next text is asked for. */
export function codesOf(text: string): CodeUnits {
  const { length } = text
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

/** Whether a word stands at `at`. */
export function startsWith(codes: CodeUnits, at: number, word: readonly number[]): boolean {
  for (let i = 0; i < word.length; i++) if (codes[at + i] !== word[i]) return false
  return true
}

/** Nothing valid stands there, or nothing usual: no position is behind it. */
export const NONE = -1

const ESCAPED = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)))

/** Open objects and arrays are the bits of a number, below its highest one; a set bit is an object. */
const OUTERMOST = 1
const DEEPEST = 2 ** 30

/** Whether there were escapes, or white space other than spaces, since it was reset. */
let special = false

/** Where the white space ends that begins at `at`. */
export function behindSpace(codes: CodeUnits, at: number): number {
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

/** The position behind a string without escapes whose quote is at `at`; NONE. */
export function behindPlainString(codes: CodeUnits, at: number): number {
  for (let i = at + 1; ; i++) {
    const code = codes[i]!
    if (code === QUOTE) return i + 1
    if (code === BACKSLASH || !(code >= SPACE)) return NONE
  }
}

/** The position behind a whole number of at most so many digits; NONE. Of 0 there is no negative. */
export function behindInteger(codes: CodeUnits, at: number, digitsMax: number): number {
  const first = codes[at]! === MINUS ? at + 1 : at
  const code = codes[first]!
  if (code === ZERO) return first === at && !continuesNumber(codes[at + 1]!) ? at + 1 : NONE
  const end = behindDigits(codes, first)
  return end === first || end - first > digitsMax || continuesNumber(codes[end]!) ? NONE : end
}

function continuesNumber(code: number): boolean {
  return code === DOT || code === LOWER_E || code === UPPER_E || (code >= ZERO && code <= NINE)
}

/**
 * The position behind the value that begins at `at`, whatever it is; NONE. With `isSpecial` it can be asked whether the value has
 * escapes or line breaks.
 */
export function behindValue(codes: CodeUnits, at: number): number {
  special = false
  let open = OUTERMOST
  let i = at
  for (;;) {
    const code = codes[i]!
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (open >= DEEPEST) return NONE
      const isObject = code === OPEN_BRACE
      open = open * 2 + (isObject ? 1 : 0)
      i = behindSpace(codes, i + 1)
      if (codes[i]! !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
        if (isObject) i = behindKey(codes, i)
        if (i < 0) return NONE
        continue
      }
      i++
      open >>= 1
    } else {
      i = code === QUOTE ? behindString(codes, i) : behindScalar(codes, i, code)
      if (i < 0) return NONE
    }
    for (; ; i++, open >>= 1) {
      if (open === OUTERMOST) return i
      i = behindSpace(codes, i)
      const next = codes[i]!
      if (next === COMMA) break
      if (next !== ((open & 1) === 1 ? CLOSE_BRACE : CLOSE_BRACKET)) return NONE
    }
    i = behindSpace(codes, i + 1)
    if ((open & 1) === 1) i = behindKey(codes, i)
    if (i < 0) return NONE
  }
}

/** Of the value that `behindValue` went over last. */
export function isSpecial(): boolean {
  return special
}

/** Where the value of the member begins whose key is at `at`; NONE. */
function behindKey(codes: CodeUnits, at: number): number {
  if (codes[at]! !== QUOTE) return NONE
  const end = behindString(codes, at)
  if (end < 0) return NONE
  const colon = behindSpace(codes, end)
  return codes[colon]! === COLON ? behindSpace(codes, colon + 1) : NONE
}

function behindString(codes: CodeUnits, at: number): number {
  for (let i = at + 1; ; i++) {
    const code = codes[i]!
    if (code === QUOTE) return i + 1
    if (code === BACKSLASH) {
      special = true
      const escaped = codes[++i]!
      if (escaped === LOWER_U) {
        for (const end = i + 4; i < end; ) if (!isHex(codes[++i]!)) return NONE
      } else if (!ESCAPED.has(escaped)) return NONE
    } else if (!(code >= SPACE)) return NONE
  }
}

function isHex(code: number): boolean {
  const lower = code | 32
  return (code >= ZERO && code <= NINE) || (lower >= LOWER_A && lower <= LOWER_F)
}

function behindScalar(codes: CodeUnits, at: number, first: number): number {
  if (first === MINUS || (first >= ZERO && first <= NINE)) return behindNumber(codes, at)
  for (const word of WORDS) if (startsWith(codes, at, word)) return at + word.length
  return NONE
}

const WORDS = ['true', 'false', 'null'].map(unitsOf)

function behindNumber(codes: CodeUnits, at: number): number {
  let i = codes[at]! === MINUS ? at + 1 : at
  const digits = codes[i]! === ZERO ? i + 1 : behindDigits(codes, i)
  if (digits === i) return NONE
  i = digits
  if (codes[i]! === DOT) {
    const fraction = behindDigits(codes, i + 1)
    if (fraction === i + 1) return NONE
    i = fraction
  }
  const code = codes[i]!
  if (code !== LOWER_E && code !== UPPER_E) return i
  const sign = codes[i + 1]!
  const exponent = sign === PLUS || sign === MINUS ? i + 2 : i + 1
  const end = behindDigits(codes, exponent)
  return end === exponent ? NONE : end
}

function behindDigits(codes: CodeUnits, at: number): number {
  let i = at
  for (;;) {
    const code = codes[i]!
    if (!(code >= ZERO && code <= NINE)) return i
    i++
  }
}
