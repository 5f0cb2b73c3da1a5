import { codesOf, skipSpace, skipValue } from './json-scan.ts'

/**
 * `not JSON: unexpected "x" at position 7`, for a text that `JSON.parse` refused. Shows only one character of the text. Does not recurse,
 * so deep nesting is safe.
 * @param charsMax a longer text is only called `not JSON`, so that a wrong body takes no more time than a right one
 */
export function describeJsonError(text: string, charsMax = Number.POSITIVE_INFINITY): string {
  if (text.length > charsMax) return 'not JSON'
  const at = findJsonError(text)
  if (at >= text.length) return `not JSON: it ends too early, at position ${text.length}`
  const line = text.slice(0, at).split('\n').length
  const column = at - text.lastIndexOf('\n', at - 1)
  const char = JSON.stringify(String.fromCodePoint(text.codePointAt(at)!))
  const place = line === 1 ? '' : ` (line ${line}, column ${column})`
  return `not JSON: unexpected ${char} at position ${at}${place}`
}

/** The position of the first character that JSON does not allow, from 0; the length when the text ends too early. */
export function findJsonError(text: string): number {
  const codes = codesOf(text)
  const end = skipValue(codes, skipSpace(codes, 0), [])
  return end < 0 ? ~end : skipSpace(codes, end)
}
