import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  LINE_FEED,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  RETURN,
  SPACE,
  TAB,
} from '../../event/json-codes.ts'

/**
 * Finds values in JSON text without building them, so that what a caller sent can be kept to the letter: numbers beyond
 * double precision, `1.0`, the order of keys. The text must be valid JSON (`JSON.parse` has read it), and the positions those
 * of an object or array; anything else throws, and never loops.
 */

const SPACES = new Set([SPACE, LINE_FEED, RETURN, TAB])

/** Called for each member: its key, where the member starts (at the key's quote), and its value's start and end. */
export type MemberVisitor = (key: string, start: number, valueStart: number, valueEnd: number) => void

/** Visits the members of the object that starts at `at`, in their order. Returns the position behind the object. */
export function eachMember(text: string, at: number, visit: MemberVisitor): number {
  let i = behindSpace(text, at)
  demand(text, i, OPEN_BRACE)
  i = behindSpace(text, i + 1)
  while (text.charCodeAt(i) !== CLOSE_BRACE) {
    demand(text, i, QUOTE)
    const start = i
    const keyEnd = skipString(text, i)
    const rawKey = text.slice(i + 1, keyEnd - 1)
    const key = rawKey.includes('\\') ? (JSON.parse(text.slice(i, keyEnd)) as string) : rawKey
    i = behindSpace(text, keyEnd)
    const valueStart = behindSpace(text, i + 1)
    const valueEnd = skipValue(text, valueStart)
    visit(key, start, valueStart, valueEnd)
    i = behindSpace(text, valueEnd)
    if (text.charCodeAt(i) === COMMA) i = behindSpace(text, i + 1)
  }
  return i + 1
}

/** Visits the elements of the array that starts at `at`; `visit` returns the position behind the element. */
export function eachElement(text: string, at: number, visit: (start: number) => number): void {
  demand(text, at, OPEN_BRACKET)
  let i = behindSpace(text, at + 1)
  while (text.charCodeAt(i) !== CLOSE_BRACKET) {
    demandMore(text, i)
    i = behindSpace(text, visit(i))
    if (text.charCodeAt(i) === COMMA) i = behindSpace(text, i + 1)
  }
}

function demand(text: string, at: number, code: number): void {
  if (text.charCodeAt(at) !== code) throw new Error(`expected ${String.fromCharCode(code)} at ${at}`)
}

function demandMore(text: string, at: number): void {
  if (!(at >= 0 && at < text.length)) throw new Error('the text ended early')
}

/** From the opening quote to behind the closing one. */
function skipString(text: string, at: number): number {
  let i = at
  for (;;) {
    i = text.indexOf('"', i + 1)
    if (i < 0) throw new Error('a string has no end')
    let backslashes = 0
    while (text.charCodeAt(i - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return i + 1
  }
}

function behindSpace(text: string, at: number): number {
  let i = at
  while (SPACES.has(text.charCodeAt(i))) i++
  return i
}

function skipValue(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return skipString(text, at)
  let i = at
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    while (i < text.length && !endsScalar(text.charCodeAt(i))) i++
    return i
  }
  let depth = 0
  for (;;) {
    demandMore(text, i)
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      i = skipString(text, i)
      continue
    }
    i++
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return i
  }
}

function endsScalar(code: number): boolean {
  return code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || code <= 32 || code === COLON
}
