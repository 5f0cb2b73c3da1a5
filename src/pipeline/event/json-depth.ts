import { JSON_DEPTH_MAX } from '../../../schemas/api/event.ts'
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-codes.ts'

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
  let isInString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isInString) {
      if (code === BACKSLASH) i++
      else if (code === QUOTE) isInString = false
    } else if (code === QUOTE) {
      isInString = true
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > levelsMax) return true
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--
    }
  }
  return false
}
