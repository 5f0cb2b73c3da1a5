/** A string, a word, a number, an opening or closing bracket, or a separator. */
const TOKEN = /\s*(?:'((?:[^'\\]|\\[\s\S])*)'|([A-Za-z]+)|(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)|([[({])|([\])}])|([:,]))/iy
const WORDS: ReadonlyMap<string, string> = new Map([
  ['NULL', 'null'],
  ['true', 'true'],
  ['false', 'false'],
])
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', 0: '\0' }

/**
 * The JSON of an array, a map or a tuple as ClickHouse writes it into text formats: `['a','b']`, `{'a':1,'b':NULL}`, `[('a',1)]`.
 * A tuple becomes an array, and a key of a map a string.
 * @returns text that may still be no JSON, when the brackets do not match; undefined for a text with anything else in it
 */
export function jsonOfClickHouse(text: string): string | undefined {
  const parts: string[] = []
  for (let at = 0, end = text.trimEnd().length; at < end; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at
    const match = TOKEN.exec(text)
    if (match === null) return undefined
    const [, string, word, number, opened, closed, separator] = match
    const value = word === undefined ? number : WORDS.get(word)
    if (word !== undefined && value === undefined) return undefined
    if (string !== undefined) parts.push(JSON.stringify(unescaped(string)))
    else if (value !== undefined) parts.push(value)
    else if (opened !== undefined) parts.push(opened === '(' ? '[' : opened)
    else if (closed !== undefined) parts.push(closed === ')' ? ']' : closed)
    else {
      const key = parts.at(-1) ?? ''
      if (separator === ':' && !key.startsWith('"')) parts[parts.length - 1] = JSON.stringify(key)
      parts.push(separator!)
    }
  }
  return parts.join('')
}

function unescaped(text: string): string {
  return text.replace(/\\(?:x([0-9a-f]{2})|([\s\S]))/gi, (_, hex: string | undefined, char: string) =>
    hex === undefined ? (ESCAPES[char] ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}
