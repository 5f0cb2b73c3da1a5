import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../../../run/json-codes.ts'
import { endOfString, endOfValue, skipSpace } from '../../event/json-depth.ts'

/*
 * Finds values in JSON text without building them, so that they can be stored exactly as sent: numbers beyond double precision,
 * `1.0`, the order of keys. The text must be valid JSON, and the positions those of an object or array. Anything else throws.
 */

/** @param start of the member, at the quote of its key */
type MemberVisitor = (key: string, start: number, valueStart: number, valueEnd: number) => void

/** Visits the members of the object at `at` in order. Returns the position after the object. */
export function eachMember(text: string, at: number, visit: MemberVisitor): number {
  let i = skipSpace(text, at)
  assertCode(text, i, OPEN_BRACE)
  i = skipSpace(text, i + 1)
  while (text.charCodeAt(i) !== CLOSE_BRACE) {
    assertCode(text, i, QUOTE)
    const start = i
    const keyEnd = skipString(text, i)
    const rawKey = text.slice(i + 1, keyEnd - 1)
    const key = rawKey.includes('\\') ? (JSON.parse(text.slice(i, keyEnd)) as string) : rawKey
    i = skipSpace(text, keyEnd)
    const valueStart = skipSpace(text, i + 1)
    const valueEnd = skipValue(text, valueStart)
    visit(key, start, valueStart, valueEnd)
    i = skipSpace(text, valueEnd)
    if (text.charCodeAt(i) === COMMA) i = skipSpace(text, i + 1)
  }
  return i + 1
}

/** Visits the elements of the array at `at`. `visit` must return the position after the element. */
export function eachElement(text: string, at: number, visit: (start: number) => number): void {
  assertCode(text, at, OPEN_BRACKET)
  let i = skipSpace(text, at + 1)
  while (text.charCodeAt(i) !== CLOSE_BRACKET) {
    assertInText(text, i)
    i = skipSpace(text, visit(i))
    if (text.charCodeAt(i) === COMMA) i = skipSpace(text, i + 1)
  }
}

function assertCode(text: string, at: number, code: number): void {
  if (text.charCodeAt(at) !== code) throw new Error(`expected ${String.fromCharCode(code)} at ${at}`)
}

function assertInText(text: string, at: number): void {
  if (!(at >= 0 && at < text.length)) throw new Error('the text ended early')
}

/** @param at of the opening quote @returns the position after the closing quote */
function skipString(text: string, at: number): number {
  const end = endOfString(text, at)
  if (end < 0) throw new Error('a string has no end')
  return end
}

function skipValue(text: string, at: number): number {
  const end = endOfValue(text, at)
  if (end < 0) throw new Error('the text ended early')
  return end
}
