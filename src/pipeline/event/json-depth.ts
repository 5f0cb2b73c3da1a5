import { JSON_DEPTH_MAX } from '../../../schemas/api/event.ts'
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../../run/json-codes.ts'

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
  if (text.length <= levelsMax) return false
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const end = endOfString(text, i)
      if (end < 0) return false
      i = end - 1
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > levelsMax) return true
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--
    }
  }
  return false
}

/** Whether a text has more values than `valuesMax`: scalars, objects and arrays. The text need not be valid JSON. */
export function hasTooManyValues(text: string, valuesMax: number): boolean {
  // Each value but the last has a character and a comma or a bracket.
  if (text.length <= 2 * valuesMax) return false
  let values = 1
  for (let i = 0; i < text.length && values <= valuesMax; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const end = endOfString(text, i)
      if (end < 0) break
      i = end - 1
    } else if (code === COMMA || code === OPEN_BRACE || code === OPEN_BRACKET) values++
  }
  return values > valuesMax
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
