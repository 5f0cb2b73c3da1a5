const TOKENS = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g

/** JSON over several lines, each value as it was sent: `JSON.parse` would round long numbers. Other text stays as it is. */
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
