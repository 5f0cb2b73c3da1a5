import { Code, Exception } from './exception.ts'
import { Scanner } from './scanner.ts'
import { quote } from './statement.ts'

/** INSERTs of the plain form: data follow the text, and both can be separated without asking the engine. */

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
  if (insert === undefined || insert.format !== 'VALUES') return undefined
  return trimmed(text.slice(insert.end))
}

/** Without blanks and semicolons at its end: a pattern takes minutes where there are long blanks within. */
function trimmed(text: string): string {
  let end = text.length
  while (end > 0 && /[;\s]/.test(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** An INSERT of the plain form, its data taken from a file; undefined when it has another form. @param path relative, without patterns */
export function insertFromFile(query: string, path: string): string | undefined {
  const insert = plainInsertOf(query)
  if (!insert?.isWhole) return undefined
  const { intoEnd, settingsAt, formatAt, format, end } = insert
  const settings = query.slice(settingsAt, formatAt)
  return `${query.slice(0, intoEnd)} FROM INFILE ${quote(path)} ${settings} ${format === 'VALUES' ? 'FORMAT Values' : query.slice(formatAt, end)}`
}

/** Data begin after at most this many bytes of text; statements with more are not split. */
export const SPLIT_HEAD_BYTES = 65_536

/** The text of an INSERT without its data, and where those begin. */
export interface SplitInsert {
  /** Of the plain form, and without comments. */
  readonly query: string
  /** Bytes of `body` before the data; negative when they begin in the query. */
  readonly dataAt: number
  /** Data are expressions, and have to be judged. */
  readonly hasValues: boolean
}

/**
 * Splits an INSERT of the plain form whose data follow its text; undefined when it has another form.
 * Comments are left out of `query`, so what is judged and what runs does not depend on where the engine sees their end.
 * @param query comes before the body, on a line of its own; may be empty
 * @param body of which the beginning is enough, but at least SPLIT_HEAD_BYTES unless it is shorter
 * @throws Exception for a semicolon in place of the data
 */
export function splitInsert(query: string, body: Buffer): SplitInsert | undefined {
  const before = query === '' ? Buffer.alloc(0) : Buffer.from(`${query}\n`)
  const text = headText(query, body)
  const plain = withoutComments(text)
  const insert = plainInsertOf(plain)
  if (insert === undefined) return undefined
  const hasValues = insert.format === 'VALUES'
  const dataAt = hasValues ? insert.end : dataStart(text, insert.end)
  // Where the head was cut, more blanks may follow, or more of the name of the format.
  if (dataAt >= before.length + SPLIT_HEAD_BYTES) return undefined
  const head = Buffer.from(plain.slice(0, insert.end), 'latin1')
  const statement = head.toString('utf8')
  if (!Buffer.from(statement).equals(head)) return undefined
  return { query: statement, dataAt: dataAt - before.length, hasValues }
}

/**
 * Where a statement begins, with one character per byte, so that an index in the text is an index in the bytes. The symbols of SQL
 * are ASCII.
 */
export function headText(query: string, body: Buffer): string {
  const before = query === '' ? '' : Buffer.from(`${query}\n`).toString('latin1')
  return before + body.toString('latin1', 0, SPLIT_HEAD_BYTES)
}

/** With blanks in place of comments. All tokens keep their places. */
function withoutComments(text: string): string {
  const scanner = new Scanner(text)
  let [plain, end] = ['', 0]
  while (scanner.next()) {
    const between = text.slice(end, scanner.from)
    plain += scanner.hasComments ? ' '.repeat(between.length) : between
    plain += scanner.token
    end = scanner.to
    scanner.hasComments = false
  }
  return plain
}

/**
 * As ClickHouse does: data begin after the line break that follows the format's name, or else after its blanks.
 * @throws Exception for a semicolon, which would be data in some formats
 */
export function dataStart(text: string, formatEnd: number): number {
  let at = formatEnd
  while (text[at] === ' ' || text[at] === '\t' || text[at] === '\f') at++
  if (text[at] === ';') {
    const message = "You have excessive ';' symbol before data for INSERT. (SYNTAX_ERROR)"
    throw new Exception(Code.SyntaxError, message)
  }
  if (text[at] === '\r') at++
  if (text[at] === '\n') at++
  return at
}
