import { cutText } from '../run/cut-text.ts'

/** Longest text of a field. No name in the data that we know is half as long. */
export const FIELD_CHARS_MAX = 500

/** Line ends, control characters, and marks that change the direction of the text around them. */
const UNWANTED = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u
const LOOSE = /[\s\p{Cc}\u2028\u2029]+/gu
const MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu

/**
 * A text of a data file as one line of at most `FIELD_CHARS_MAX` UTF-16 units, without control characters. Files may come from
 * anywhere, and their text goes into answers, tables, terminals and pages. The result is empty if nothing is left.
 */
export function fieldText(text: string): string {
  if (text.length <= FIELD_CHARS_MAX && !UNWANTED.test(text)) return text
  // Several times the limit is read, because blanks may go.
  const line = cutText(text, 4 * FIELD_CHARS_MAX)
    .replace(MARKS, '')
    .replace(LOOSE, ' ')
    .trim()
  // A copy: V8 would keep the whole text alive for its part.
  return Buffer.from(cutText(line, FIELD_CHARS_MAX).trimEnd()).toString()
}
