import { Scanner, type TokenKind } from './scanner.ts'

/** An argument of a call. */
export interface Argument {
  /** Number of tokens. */
  tokens: number
  /** The first token. */
  kind: TokenKind
  token: string
}

export interface Call {
  /** In lower case. */
  readonly name: string
  readonly args: readonly Argument[]
}

interface Frame {
  readonly name: string
  readonly args: Argument[]
}

/**
 * All calls in a statement, inner ones first. A list in parentheses is a call of the word directly before it, or of no name.
 * Time and memory are linear.
 * @param canonical in canonical form
 */
export function* callsOf(canonical: string): Generator<Call> {
  const open: Frame[] = []
  let [before, end] = ['', 0]
  for (const scanner = new Scanner(canonical); scanner.next(); ) {
    const { kind, token } = scanner
    const frame = open.at(-1)
    if (kind === 'symbol' && CLOSING.has(token)) {
      const closed = open.pop()
      if (closed !== undefined && token === ')') yield closed
    } else if (kind === 'symbol' && token === ',' && frame !== undefined) frame.args.push(emptyArgument())
    else {
      if (frame !== undefined) add(frame.args.at(-1)!, kind, token)
      if (kind === 'symbol' && OPENING.has(token))
        open.push({ name: token === '(' && scanner.from === end ? before : '', args: [emptyArgument()] })
    }
    before = kind === 'word' || kind === 'name' ? token.replaceAll('`', '').toLowerCase() : ''
    end = scanner.to
  }
}

const OPENING = new Set(['(', '[', '{'])
const CLOSING = new Set([')', ']', '}'])

function emptyArgument(): Argument {
  return { tokens: 0, kind: 'end', token: '' }
}

function add(argument: Argument, kind: TokenKind, token: string): void {
  if (argument.tokens === 0) Object.assign(argument, { kind, token })
  argument.tokens++
}
