/* The engine's canonical form: strings in '', unusual names in ``, both with backslash escapes, and no comments. */

/** Index of the quote that closes the one at `start`, or the length of the text. */
export function endOfQuoted(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== text[start]) at += text[at] === '\\' ? 2 : 1
  return at
}

/** Replaces each character inside quotes by `_`. Positions in the result equal positions in the text. */
export function emptied(canonical: string): string {
  let [bare, from] = ['', 0]
  for (let at = 0; at < canonical.length; at++) {
    if (canonical[at] !== "'" && canonical[at] !== '`') continue
    const end = endOfQuoted(canonical, at)
    // An unclosed quote hides nothing.
    if (end >= canonical.length) break
    bare += `${canonical.slice(from, at + 1)}${'_'.repeat(end - at - 1)}`
    from = end
    at = end
  }
  return bare + canonical.slice(from)
}
