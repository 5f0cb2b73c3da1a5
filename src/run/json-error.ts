/** Words of RFC 8259 that are neither structure, string nor number. */
const LITERALS = ['true', 'false', 'null']
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const QUOTE = 34
const BACKSLASH = 92
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y

/**
 * `not JSON: unexpected "x" at position 7`, for a text that `JSON.parse` refused. Shows only one character of the text. Does not recurse,
 * so deep nesting is safe.
 * @param charsMax a longer text is only called `not JSON`, because the search takes up to 0.1 µs a character
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
  const open: ('{' | '[')[] = []
  let expect: 'value' | 'first element' | 'first key' | 'key' | 'colon' | 'next' = 'value'
  let at = skipSpace(text, 0)
  for (; at < text.length; at = skipSpace(text, at)) {
    const char = text[at]!
    if (expect === 'next') {
      const inside = open.at(-1)
      if (inside === undefined) return at
      if (char === ',') expect = inside === '{' ? 'key' : 'value'
      else if (char === (inside === '{' ? '}' : ']')) open.pop()
      else return at
      at++
    } else if (expect === 'colon') {
      if (char !== ':') return at
      expect = 'value'
      at++
    } else if ((expect === 'first key' && char === '}') || (expect === 'first element' && char === ']')) {
      open.pop()
      expect = 'next'
      at++
    } else if (expect === 'first key' || expect === 'key') {
      if (char !== '"') return at
      const end = stringEnd(text, at)
      if (end < 0) return ~end
      expect = 'colon'
      at = end
    } else if (char === '{' || char === '[') {
      open.push(char)
      expect = char === '{' ? 'first key' : 'first element'
      at++
    } else {
      const end = scalarEnd(text, at)
      if (end < 0) return ~end
      expect = 'next'
      at = end
    }
  }
  return text.length
}

/**
 * The position after the scalar that starts at `at`; when it is invalid, the complement (`~`) of the position of the error.
 */
function scalarEnd(text: string, at: number): number {
  if (text[at] === '"') return stringEnd(text, at)
  for (const literal of LITERALS) {
    let end = at
    while (end < text.length && text[end] === literal[end - at]) end++
    if (end > at) return end === at + literal.length ? end : ~end
  }
  const end = match(NUMBER, text, at)
  return end < 0 ? ~(text[at] === '-' ? at + 1 : at) : end
}

/** Like `scalarEnd`, for a string. A loop, because a pattern would need memory for every character. */
function stringEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code < 32) return ~at
    if (code === BACKSLASH) {
      const end = match(ESCAPE, text, at)
      if (end < 0) return ~at
      at = end
    } else {
      at++
    }
  }
  return ~text.length
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && ' \n\r\t'.includes(text[at]!)) at++
  return at
}
