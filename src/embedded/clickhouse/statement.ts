import { Scanner } from './scanner.ts'

/** A statement is gone through several times, a tenth of a second each at this size. Data of an INSERT do not count. */
export const STATEMENT_BYTES_MAX = 8_388_608

/** What has to be known about a statement's text before it runs; the engine alone parses it. */
export interface StatementShape {
  readonly isInsert: boolean
  readonly isEmpty: boolean
  /** A second statement follows a semicolon. */
  readonly isMultiple: boolean
  /** Of the FORMAT clause that ends it. */
  readonly format: string | undefined
  /** Where that clause begins. */
  readonly formatAt: number | undefined
  /** Where it ends, without semicolons. */
  readonly end: number
  /** It answers with rows that may be many: a SELECT in one of its forms. */
  readonly isSelect: boolean
  /** It changes nothing: a SELECT, SHOW, DESCRIBE, EXPLAIN, EXISTS or CHECK. */
  readonly isRead: boolean
  /** It changes what later statements of its session see: SET or USE. */
  readonly changesSession: boolean
  readonly isTemporaryTable: boolean
  readonly isKill: boolean
  /** It names a file for its result itself. */
  readonly hasFile: boolean
}

/** Where the data of an INSERT may begin: its text after this is not looked at. */
const HEAD_CHARACTERS_MAX = 65_536

const SELECTS = new Set(['SELECT', 'WITH', 'FROM'])
const READS = new Set(['SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS', 'CHECK'])

/** Goes through the text once. */
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

/** Longer words are no keywords. */
const KEYWORD_CHARACTERS_MAX = 16

/** The word at hand in capitals; empty when it is something else. */
function keyword({ kind, from, to, token }: Scanner): string {
  return kind === 'word' && to - from <= KEYWORD_CHARACTERS_MAX ? token.toUpperCase() : ''
}

/** The first word, after opening parentheses. */
function firstWord(scanner: Scanner): { word: string; isBare: boolean } {
  let isBare = true
  while (scanner.next() && scanner.is('(')) isBare = false
  return { word: keyword(scanner), isBare }
}

/** Finds the FORMAT clause in which a statement ends; or what looks like it, as `ORDER BY format DESC` does. */
class FormatClause {
  #last: { readonly at: number; readonly name: string } | undefined
  /** Where a FORMAT began whose name has to follow. */
  #at: number | undefined
  /** What came after its name. */
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
 * A SELECT whose result goes into a file. Where quotes and comments end is a guess for all but plain texts: what comes of
 * the others has to be compared.
 * @param hasFormat whether what looks like a FORMAT clause at the end of it is one
 */
export function selectIntoFile(text: string, path: string, hasFormat: boolean): string {
  const { formatAt, end } = shapeOf(text)
  const at = (hasFormat ? formatAt : undefined) ?? end
  return `${text.slice(0, at)}\n${intoFile(path)}\n${text.slice(at, end)}`
}

/** The clause by which a result goes into a file that is there. */
export function intoFile(path: string): string {
  return `INTO OUTFILE ${quote(path)} TRUNCATE`
}

const PLAIN_CHARACTERS_MAX = 16_384
const PLAIN_SYMBOLS = ' \t\n\r!%&()*+,-./:;<=>?@[]^{|}~'

/** Whether there is one way only to read where its strings end: ASCII, simple strings, no other quotes, no comments. */
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
  if (kind === 'string') return token[0] === "'" && !/[\\\0]/.test(token) && token.split("'").length % 2 === 1
  return kind !== 'name' && !token.includes('$')
}

/** A string as SQL. */
export function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** An identifier as SQL. */
export function quoteName(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``
}
