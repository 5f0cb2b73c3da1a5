/** Kinds of tokens. A `string` is in single quotes or dollar quotes, a `name` in double quotes or backticks. */
export type TokenKind = 'word' | 'number' | 'string' | 'name' | 'symbol' | 'end'

/** After this many unclosed dollar quotes, a dollar sign is an ordinary character. */
const UNCLOSED_MAX = 16

/**
 * Reads the tokens of a statement like ClickHouse's lexer, in linear time and constant memory for any text. It skips blanks and
 * comments. An unclosed quote or comment extends to the end.
 */
export class Scanner {
  readonly text: string
  kind: TokenKind = 'end'
  /** Start and end of the token. */
  from = 0
  to = 0
  /** Whether a comment was skipped so far. */
  hasComments = false
  /** Number of characters read, for tests of the complexity. */
  steps = 0
  readonly #unclosed = new Set<string>()

  constructor(text: string) {
    this.text = text
  }

  /** Moves to the next token. @returns false at the end of the text */
  next(): boolean {
    this.#skip()
    this.from = this.to
    if (this.from >= this.text.length) {
      this.kind = 'end'
      return false
    }
    const code = this.text.charCodeAt(this.from)
    if (code === QUOTE) this.#quoted('string', code)
    else if (code === DOUBLE_QUOTE || code === BACKTICK) this.#quoted('name', code)
    else if (code === DOLLAR && this.#dollarQuoted()) this.kind = 'string'
    else if (isDigit(code)) this.#word('number')
    else if (isWordCode(code)) this.#word('word')
    else this.#symbol()
    this.steps += this.to - this.from
    return true
  }

  /** The text of the token. */
  get token(): string {
    return this.text.slice(this.from, this.to)
  }

  /** Whether the token is this word, in capitals, or this symbol. */
  is(token: string): boolean {
    if (this.to - this.from !== token.length || this.kind === 'string' || this.kind === 'name') return false
    if (token.length === 1) return this.text.charCodeAt(this.from) === token.charCodeAt(0)
    return this.token.toUpperCase() === token
  }

  #skip(): void {
    const { text } = this
    const began = this.to
    while (this.to < this.text.length) {
      const code = text.charCodeAt(this.to)
      const next = this.to + 1 < this.text.length ? text.charCodeAt(this.to + 1) : 0
      if (isBlank(code)) this.to++
      else if (code === SLASH && next === ASTERISK) this.#blockComment()
      else if ((code === MINUS && next === MINUS) || (code === SLASH && next === SLASH)) this.#lineComment()
      else if (code === HASH && (next === SPACE || next === EXCLAMATION)) this.#lineComment()
      else break
    }
    this.steps += this.to - began
  }

  #lineComment(): void {
    this.hasComments = true
    this.to = this.#before(this.text.indexOf('\n', this.to))
  }

  /** Block comments nest. */
  #blockComment(): void {
    this.hasComments = true
    let depth = 0
    do {
      const code = this.text.charCodeAt(this.to)
      const next = this.text.charCodeAt(this.to + 1)
      const isEdge = (code === SLASH && next === ASTERISK) || (code === ASTERISK && next === SLASH)
      if (isEdge) depth += code === SLASH ? 1 : -1
      this.to += isEdge ? 2 : 1
    } while (depth > 0 && this.to < this.text.length)
    this.to = Math.min(this.to, this.text.length)
  }

  #quoted(kind: TokenKind, quote: number): void {
    const { text } = this
    this.kind = kind
    let at = this.from + 1
    while (at < this.text.length) {
      const code = text.charCodeAt(at)
      if (code === quote && text.charCodeAt(at + 1) !== quote) break
      at += code === BACKSLASH || code === quote ? 2 : 1
    }
    this.to = Math.min(at + 1, this.text.length)
  }

  /** @returns false when the current dollar sign does not start a quote */
  #dollarQuoted(): boolean {
    if (this.#unclosed.size >= UNCLOSED_MAX) return false
    const tagEnd = this.#before(this.text.indexOf('$', this.from + 1)) + 1
    if (tagEnd > this.text.length) return false
    const tag = this.text.slice(this.from, tagEnd)
    if (this.#unclosed.has(tag)) return false
    const close = this.text.indexOf(tag, tagEnd)
    this.steps += this.#before(close) - this.from
    if (close < 0) {
      this.#unclosed.add(tag)
      return false
    }
    this.to = close + tag.length
    return true
  }

  #word(kind: TokenKind): void {
    this.kind = kind
    this.to = this.from + 1
    while (this.to < this.text.length && isWordCode(this.text.charCodeAt(this.to))) this.to++
  }

  #symbol(): void {
    this.kind = 'symbol'
    this.to = this.from + 1
  }

  #before(index: number): number {
    return index < 0 ? this.text.length : index
  }
}

const [SPACE, EXCLAMATION, DOUBLE_QUOTE, HASH, DOLLAR, QUOTE, ASTERISK, MINUS, SLASH] = codesOf(' !"#$\'*-/')
const [BACKSLASH, BACKTICK] = codesOf('\\`')

function codesOf(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0))
}

function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/** Letters, digits, `_` and, after the first character, `$`. */
function isWordCode(code: number): boolean {
  const letter = code | 32
  return (letter >= 97 && letter <= 122) || isDigit(code) || code === 95 || code === 36
}
