/** Texts in the engine's canonical form: strings in '', odd names in ``, both with backslashes, and no comments. */

/** Where the quoted piece that begins at `start` ends: the place of its closing quote, or of the end of the text. */
export function endOfQuoted(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== text[start]) at += text[at] === '\\' ? 2 : 1
  return at
}

/** With `_` for each character within quotes: of the same length, so that places in one are places in the other. */
export function emptied(canonical: string): string {
  let [bare, from] = ['', 0]
  for (let at = 0; at < canonical.length; at++) {
    if (canonical[at] !== "'" && canonical[at] !== '`') continue
    const end = endOfQuoted(canonical, at)
    // A quote that nothing closes hides nothing.
    if (end >= canonical.length) break
    bare += `${canonical.slice(from, at + 1)}${'_'.repeat(end - at - 1)}`
    from = end
    at = end
  }
  return bare + canonical.slice(from)
}
