const TOKENS = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g

/** Formats JSON without `JSON.parse`, which would round long numbers. Leaves other text as it is. */
export function indentedJson(text: string): string {
  if (!isJson(text)) return text
  const tokens = text.match(TOKENS) ?? []
  let depth = 0
  let shown = ''
  const newLine = () => `\n${'  '.repeat(depth)}`
  for (const [i, token] of tokens.entries()) {
    const isEmpty = token === '{' ? tokens[i + 1] === '}' : token === '[' && tokens[i + 1] === ']'
    const endsEmpty = token === '}' ? tokens[i - 1] === '{' : token === ']' && tokens[i - 1] === '['
    if ((token === '}' || token === ']') && !endsEmpty) {
      depth--
      shown += newLine()
    }
    shown += token
    if (token === ':') shown += ' '
    if ((token === '{' || token === '[') && !isEmpty) depth++
    if (token === ',' || ((token === '{' || token === '[') && !isEmpty)) shown += newLine()
  }
  return shown
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
