import { Scanner } from './scanner.ts'

/** A statement is gone through several times, a tenth of a second each at this size. Data of an INSERT do not count. */
export const STATEMENT_BYTES_MAX = 8_388_608

/** What has to be known about a statement's text before it runs; the engine alone parses it. */
export interface StatementShape {
  readonly isInsert: boolean
  readonly isEmpty: boolean
  /** An INSERT whose text ends where its data should begin. */
  readonly lacksData: boolean
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
    lacksData: isInsert && (before === 'VALUES' || format.isLast),
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

  /** Nothing comes after the name. */
  get isLast(): boolean {
    return this.#last !== undefined && this.#rest === 'nothing' && this.#at === undefined
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

/** In single quotes, closed, with nothing in it that has to be decoded. */
function isSimpleString(token: string): boolean {
  return token.length >= 2 && token[0] === "'" && token.at(-1) === "'" && !/[\\\0']/.test(token.slice(1, -1))
}

/** An INSERT of the plain form: INSERT INTO table (columns) SETTINGS name = value FORMAT name, or VALUES. */
interface PlainInsert {
  /** Where its table and columns end, its settings begin and its format. */
  readonly intoEnd: number
  readonly settingsAt: number
  readonly formatAt: number
  /** In capitals. */
  readonly format: string
  /** Where the format's name ends. */
  readonly end: number
  /** Nothing comes after that. */
  readonly isWhole: boolean
}

/** Reads an INSERT of the plain form; undefined when it has another one. Comments are not plain. */
function plainInsertOf(text: string): PlainInsert | undefined {
  const scanner = new Scanner(text)
  const takes = (token: string) => scanner.is(token) && scanner.next()
  scanner.next()
  if (!(takes('INSERT') && takes('INTO'))) return undefined
  if (scanner.is('TABLE')) scanner.next()
  let intoEnd = tableEnd(scanner)
  if (intoEnd === undefined) return undefined
  if (scanner.is('(')) {
    intoEnd = columnsEnd(scanner)
    if (intoEnd === undefined) return undefined
  }
  const settingsAt = scanner.from
  if (takes('SETTINGS') && !skipsSettings(scanner)) return undefined
  const formatAt = scanner.from
  if (scanner.is('FORMAT')) scanner.next()
  else if (!scanner.is('VALUES')) return undefined
  if (scanner.hasComments || !isName(scanner) || scanner.kind === 'name') return undefined
  const [format, end] = [scanner.token.toUpperCase(), scanner.to]
  return { intoEnd, settingsAt, formatAt, format, end, isWhole: !scanner.next() && !scanner.hasComments }
}

/** Where a name of a table ends, with that of its database or without; moves past it. */
function tableEnd(scanner: Scanner): number | undefined {
  for (;;) {
    if (!isName(scanner)) return undefined
    const end = scanner.to
    scanner.next()
    if (!scanner.is('.')) return end
    scanner.next()
  }
}

/** Where a list of names in parentheses ends; moves past it. */
function columnsEnd(scanner: Scanner): number | undefined {
  while (scanner.next() && (isName(scanner) || scanner.is(',') || scanner.is('.')));
  if (!scanner.is(')')) return undefined
  const end = scanner.to
  scanner.next()
  return end
}

/** Moves past `name = value, …`. */
function skipsSettings(scanner: Scanner): boolean {
  for (;;) {
    if (!isName(scanner) || !scanner.next() || !scanner.is('=') || !scanner.next()) return false
    if (scanner.is('-')) scanner.next()
    if (!skipsValue(scanner)) return false
    if (!scanner.is(',')) return true
    scanner.next()
  }
}

function skipsValue(scanner: Scanner): boolean {
  if (scanner.kind === 'string') return isSimpleString(scanner.token) && scanner.next()
  if (!isName(scanner)) return false
  // Numbers have fractions.
  while (scanner.next() && scanner.is('.')) scanner.next()
  return true
}

/** A word, a number, or a name in quotes that needs no decoding. */
function isName({ kind, token }: Scanner): boolean {
  if (kind === 'word' || kind === 'number') return !token.includes('$')
  return kind === 'name' && token.length > 2 && token.at(-1) === token[0] && !/[\\"`]/.test(token.slice(1, -1))
}

/** Whether the query is an INSERT of the plain form, which nothing but data can follow: VALUES are expressions. */
export function takesDataOnly(query: string): boolean {
  const insert = plainInsertOf(query)
  return insert?.isWhole === true && insert.format !== 'VALUES'
}

/** Where the name of the format ends in an INSERT of the plain form: data follow. Undefined for VALUES, which are expressions. */
export function plainDataStart(text: string): number | undefined {
  const insert = plainInsertOf(text)
  return insert === undefined || insert.format === 'VALUES' ? undefined : insert.end
}

/** What follows VALUES in a plain INSERT; undefined when the text has another form. */
export function valuesOf(text: string): string | undefined {
  const insert = plainInsertOf(text)
  if (insert === undefined || insert.format !== 'VALUES' || insert.settingsAt !== insert.formatAt) return undefined
  return trimmed(text.slice(insert.end))
}

/** Without blanks and semicolons at its end: a pattern takes minutes where there are long blanks within. */
function trimmed(text: string): string {
  let end = text.length
  while (end > 0 && /[;\s]/.test(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** An INSERT of the plain form, its data taken from a file; undefined when it has another form. */
export function insertFromFile(query: string, path: string): string | undefined {
  const insert = plainInsertOf(query)
  // The engine takes these for a pattern of several files.
  if (!insert?.isWhole || insert.format === 'VALUES' || /[*?{}]/.test(path)) return undefined
  const { intoEnd, settingsAt, formatAt, end } = insert
  const [settings, format] = [query.slice(settingsAt, formatAt), query.slice(formatAt, end)]
  return `${query.slice(0, intoEnd)} FROM INFILE ${quote(path)} ${settings} ${format}`
}

/** A string as SQL. */
export function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** An identifier as SQL. */
export function quoteName(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``
}
