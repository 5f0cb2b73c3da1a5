import { JSON_DEPTH_MAX } from '../../../schemas/api/event.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  LINE_FEED,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  RETURN,
  SPACE,
  TAB,
} from '../../run/json-codes.ts'

/** Error for a text or line that is too deep. */
export const TOO_DEEP = tooDeep(JSON_DEPTH_MAX)

/** The same for another limit. */
export function tooDeep(levelsMax: number): string {
  return `is nested more than ${levelsMax} levels deep`
}

/**
 * Whether a text has too many levels of objects and arrays. Call it before JSON.parse, which takes up to a second for a megabyte of
 * brackets. The text need not be valid JSON.
 * @param levelsMax lower for a text that becomes a part of another one
 */
export function isTooDeep(text: string, levelsMax: number = JSON_DEPTH_MAX): boolean {
  // Each level takes a character.
  return text.length > levelsMax && scanOf(text).deepest > levelsMax
}

/** Whether a text has more values than `valuesMax`: scalars, objects and arrays. The text need not be valid JSON. */
export function hasTooManyValues(text: string, valuesMax: number): boolean {
  // Each value but the last has a character and a comma or a bracket.
  return text.length > 2 * valuesMax && scanOf(text).values > valuesMax
}

/** Whether the JSON of a value would be too deep. */
export function isValueTooDeep(value: unknown, levelsMax: number = JSON_DEPTH_MAX): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levelsMax === 0) return true
  for (const key in value) if (isValueTooDeep(value[key as keyof typeof value], levelsMax - 1)) return true
  return false
}

/** The position after the JSON string whose first quote is at `at`; -1 when it has no end. */
export function endOfString(text: string, at: number): number {
  // `indexOf` is several times faster than a loop over characters.
  for (let quote = text.indexOf('"', at + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote + 1
  }
  return -1
}

/** A scan over one value of JSON text, which need not be valid. */
export interface ValueScan {
  readonly start: number
  at: number
  depth: number
  deepest: number
  /** Never fewer than the value has. */
  values: number
}

/** @param start of the value */
export function newScan(start: number): ValueScan {
  return { start, at: start, depth: 0, deepest: 0, values: 1 }
}

/** Scans all values of a text. */
function scanOf(text: string): ValueScan {
  const scan = newScan(0)
  while (scan.at < text.length) {
    const start = skipSpace(text, scan.at)
    scan.at = start
    scanOn(text, scan, text.length)
    // A comma or a bracket without its opening one.
    if (scan.at === start) scan.at++
  }
  return scan
}

/** Continues a scan, not much further than `until`. Returns whether the value is complete; its end is `at` then. */
export function scanOn(text: string, scan: ValueScan, until: number): boolean {
  let { at, depth, deepest, values } = scan
  const end = Math.min(until, text.length)
  let isComplete = false
  for (; at < end && !isComplete; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const stringEnd = endOfString(text, at)
      at = (stringEnd < 0 ? text.length : stringEnd) - 1
      isComplete = depth === 0 && stringEnd >= 0
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const next = text.charCodeAt(at + 1)
      if (next !== CLOSE_BRACE && next !== CLOSE_BRACKET) values++
      if (++depth > deepest) deepest = depth
    } else if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (depth === 0) {
        // The end of the container of a number or a word.
        isComplete = true
        break
      }
      if (code === COMMA) values++
      else isComplete = --depth === 0
    } else if (code <= SPACE && depth === 0) {
      isComplete = true
      break
    }
  }
  scan.at = at
  scan.depth = depth
  scan.deepest = deepest
  scan.values = values
  return isComplete
}

/** The position after the value at `at`; -1 when it has no end. */
export function endOfValue(text: string, at: number): number {
  const scan = newScan(at)
  // Only a number or a word may end with the text.
  const isComplete = scanOn(text, scan, text.length) || (scan.depth === 0 && text.charCodeAt(at) !== QUOTE)
  return isComplete ? scan.at : -1
}

/** The position after the white space at `at`. */
export function skipSpace(text: string, at: number): number {
  let i = at
  for (;;) {
    const code = text.charCodeAt(i)
    if (code !== SPACE && code !== LINE_FEED && code !== RETURN && code !== TAB) return i
    i++
  }
}
