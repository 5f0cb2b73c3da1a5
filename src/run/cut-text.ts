/**
 * The first UTF-16 units of a text, at most `maxChars`: one fewer where the cut would split a character. Half of one is no text, and
 * ClickHouse reads nothing of JSON that has it.
 */
export function cutText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : text.slice(0, wholeUntil(text, maxChars))
}

/** The position itself; the one before it where it is inside of a character. */
export function wholeUntil(text: string, at: number): number {
  const code = text.charCodeAt(at - 1)
  return at < text.length && code >= 0xd800 && code < 0xdc00 ? at - 1 : at
}
