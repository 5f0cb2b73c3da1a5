import { Scanner } from './scanner.ts'

/** Limit of a statement without the data of an INSERT. It is scanned several times, a tenth of a second each at this size. */
export const STATEMENT_BYTES_MAX = 8_388_608

/** Properties of a statement's text that are needed before it runs. Only the engine parses it fully. */
export interface StatementShape {
  readonly isInsert: boolean
  readonly isEmpty: boolean
  /** A second statement follows a semicolon. */
  readonly isMultiple: boolean
  /** The format of the FORMAT clause at the end. */
  readonly format: string | undefined
  /** Start of that clause. */
  readonly formatAt: number | undefined
  /** End of the statement, without semicolons. */
  readonly end: number
  /** A SELECT in any form, whose result may be large. */
  readonly isSelect: boolean
  /** Read-only: a SELECT, SHOW, DESCRIBE, EXPLAIN, EXISTS or CHECK. */
  readonly isRead: boolean
  /** SET or USE, which affect later statements of the session. */
  readonly changesSession: boolean
  readonly isTemporaryTable: boolean
  readonly isKill: boolean
  /** It has an INTO OUTFILE clause. */
  readonly hasFile: boolean
}

/** The text of an INSERT after this may be data, and is not scanned. */
const HEAD_CHARACTERS_MAX = 65_536

const SELECTS = new Set(['SELECT', 'WITH', 'FROM'])
const READS = new Set(['SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS', 'CHECK'])

/** Scans the text once. */
export function shapeOf(text: string): StatementShape {
  const head = new Scanner(text.slice(0, HEAD_CHARACTERS_MAX))
  const first = firstWord(head)
  const isInsert = first.word === 'INSERT'
  const scanner = new Scanner(isInsert ? head.text : text)
  const format = new FormatClause()
  let [end, before] = [0, '']
  let [isMultiple, hasSemicolon, insertsInto, hasFile, isTemporary] = [false, false, false, false, false]
  while (scanner.next()) {
    if (scanner.is(';')) {
      hasSemicolon = true
      continue
    }
    isMultiple ||= hasSemicolon
    end = scanner.to
    format.take(scanner)
    const word = keyword(scanner)
    insertsInto ||= before === 'INSERT' && word === 'INTO'
    hasFile ||= before === 'INTO' && word === 'OUTFILE'
    isTemporary ||= word === 'TEMPORARY'
    before = word
  }
  const clause = format.ending
  const isSelect = SELECTS.has(first.word) && !(first.word === 'WITH' && insertsInto)
  return {
    isInsert,
    isEmpty: end === 0,
    isMultiple: !isInsert && isMultiple,
    format: isInsert ? undefined : clause?.name,
    formatAt: clause?.at,
    end,
    isSelect,
    isRead: isSelect || READS.has(first.word),
    changesSession: first.isBare && (first.word === 'SET' || first.word === 'USE'),
    isTemporaryTable: first.isBare && (first.word === 'CREATE' || first.word === 'ATTACH') && isTemporary,
    isKill: first.isBare && first.word === 'KILL',
    hasFile,
  }
}

/** Longest keyword. */
const KEYWORD_CHARACTERS_MAX = 16

/** The current word in upper case; empty for other tokens. */
function keyword({ kind, from, to, token }: Scanner): string {
  return kind === 'word' && to - from <= KEYWORD_CHARACTERS_MAX ? token.toUpperCase() : ''
}

/** The first word, after opening parentheses. */
function firstWord(scanner: Scanner): { word: string; isBare: boolean } {
  let isBare = true
  while (scanner.next() && scanner.is('(')) isBare = false
  return { word: keyword(scanner), isBare }
}

/** Finds the FORMAT clause at the end of a statement, or text that looks like one, such as `ORDER BY format DESC`. */
class FormatClause {
  #last: { readonly at: number; readonly name: string } | undefined
  /** Start of a FORMAT whose name must follow. */
  #at: number | undefined
  /** The tokens after its name. */
  #rest: 'nothing' | 'settings' | 'other' = 'nothing'

  take(scanner: Scanner): void {
    const isName = scanner.kind === 'word' || scanner.kind === 'number'
    if (this.#at !== undefined && isName) {
      this.#last = { at: this.#at, name: scanner.token }
      this.#at = undefined
      this.#rest = 'nothing'
      return
    }
    this.#at = undefined
    if (scanner.is('FORMAT')) this.#at = scanner.from
    if (this.#rest === 'nothing') this.#rest = scanner.is('SETTINGS') ? 'settings' : 'other'
  }

  get ending(): { readonly at: number; readonly name: string } | undefined {
    return this.#rest === 'other' ? undefined : this.#last
  }
}

/**
 * A SELECT with its result in a file. The end of quotes and comments is a guess unless the text is plain (`isPlain`), so the
 * caller must verify the result.
 * @param hasFormat whether the apparent FORMAT clause at the end is a real one
 */
export function selectIntoFile(text: string, path: string, hasFormat: boolean): string {
  const { formatAt, end } = shapeOf(text)
  const at = (hasFormat ? formatAt : undefined) ?? end
  return `${text.slice(0, at)}\n${intoFile(path)}\n${text.slice(at, end)}`
}

/** The clause that writes a result to an existing file. */
export function intoFile(path: string): string {
  return `INTO OUTFILE ${quote(path)} TRUNCATE`
}

const PLAIN_CHARACTERS_MAX = 16_384
const PLAIN_SYMBOLS = ' \t\n\r!%&()*+,-./:;<=>?@[]^{|}~'

/** Whether the ends of all strings are unambiguous: ASCII, strings without escaped quotes, no other quotes, no comments. */
export function isPlain(text: string): boolean {
  if (text.length > PLAIN_CHARACTERS_MAX) return false
  for (const scanner = new Scanner(text); ; ) {
    const from = scanner.to
    const hasToken = scanner.next()
    for (let at = from; at < scanner.from; at++) if (!PLAIN_SYMBOLS.includes(text[at]!)) return false
    if (scanner.hasComments) return false
    if (!hasToken) return true
    if (!isPlainToken(scanner)) return false
  }
}

function isPlainToken({ kind, token }: Scanner): boolean {
  if (kind === 'symbol') return PLAIN_SYMBOLS.includes(token)
  if (kind === 'string') {
    // A backslash always takes the next character with it.
    const text = token.replace(/\\[^'\0]/g, '')
    return text[0] === "'" && !/[\\\0]/.test(text) && text.split("'").length % 2 === 1
  }
  return kind !== 'name' && !token.includes('$')
}

/** Quotes a string for SQL. */
export function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** Quotes an identifier for SQL. */
export function quoteName(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``
}
