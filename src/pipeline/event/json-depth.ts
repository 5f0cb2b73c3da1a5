import { JSON_DEPTH_MAX } from '../../../schemas/api/event.ts'
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-codes.ts'

/** Says of a text, or of a line, what is wrong with it. */
export const TOO_DEEP = `is nested more than ${JSON_DEPTH_MAX} levels deep`

/**
 * Whether JSON text has too many levels of objects and arrays. JSON.parse takes up to a second of CPU for a
 * megabyte of levels, so this comes before it. Builds nothing, and takes a text that is no JSON too.
 * @param levelsMax fewer, for a text that becomes a part of another one
 */
export function isTooDeep(text: string, levelsMax: number = JSON_DEPTH_MAX): boolean {
  // A level takes a character.
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
