/*
 * Half of a character, a lone surrogate, comes from senders that cut texts. It has no UTF-8 form, and ClickHouse reads nothing of JSON
 * that has one, so each becomes U+FFFD, as in every encoder of UTF-8.
 */

/** The text with U+FFFD in place of lone surrogates. */
export function wellFormed(text: string): string {
  // The type declarations of this version of ECMAScript lack it.
  return (text as string & { toWellFormed(): string }).toWellFormed()
}

/** Two backslashes, a pair of escaped surrogates, or a lone one. */
const BACKSLASHES_OR_SURROGATES =
  /\\(?:\\|u[dD](?:[89abAB][\da-fA-F]{2}(?:\\u[dD][c-fC-F][\da-fA-F]{2})?|[c-fC-F][\da-fA-F]{2}))/g
const LONE_CHARS = '\\ud800'.length

/** The same for the escapes in JSON. All other bytes stay as they are. */
export function wellFormedJson(json: string): string {
  if (!json.includes('\\u')) return json
  return json.replace(BACKSLASHES_OR_SURROGATES, (found) => (found.length === LONE_CHARS ? '\\ufffd' : found))
}
