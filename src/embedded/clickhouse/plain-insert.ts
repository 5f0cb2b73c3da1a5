import { Code, Exception } from './exception.ts'
import { Scanner } from './scanner.ts'
import { quote } from './statement.ts'

/* INSERTs in plain form: data follow the text, and both can be separated without the engine's parser. */

/** A closed string in single quotes without escapes. */
function isSimpleString(token: string): boolean {
  return token.length >= 2 && token[0] === "'" && token.at(-1) === "'" && !/[\\\0']/.test(token.slice(1, -1))
}

/** An INSERT of the plain form: INSERT INTO table (columns) SETTINGS name = value FORMAT name, or VALUES. */
interface PlainInsert {
  /** End of table and columns, start of the settings, and start of the format. */
  readonly intoEnd: number
  readonly settingsAt: number
  readonly formatAt: number
  /** In upper case. */
  readonly format: string
  /** End of the format's name. */
  readonly end: number
  /** Whether the text ends there. */
  readonly isWhole: boolean
}

/** Parses an INSERT in plain form; undefined for other forms and for comments. */
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

/** Skips a table name with optional database. @returns its end */
function tableEnd(scanner: Scanner): number | undefined {
  for (;;) {
    if (!isName(scanner)) return undefined
    const end = scanner.to
    scanner.next()
    if (!scanner.is('.')) return end
    scanner.next()
  }
}

/** Skips a list of names in parentheses. @returns its end */
function columnsEnd(scanner: Scanner): number | undefined {
  while (scanner.next() && (isName(scanner) || scanner.is(',') || scanner.is('.')));
  if (!scanner.is(')')) return undefined
  const end = scanner.to
  scanner.next()
  return end
}

/** Skips `name = value, …`. */
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

/** A word, a number, or a quoted name without escapes. */
function isName({ kind, token }: Scanner): boolean {
  if (kind === 'word' || kind === 'number') return !token.includes('$')
  return kind === 'name' && token.length > 2 && token.at(-1) === token[0] && !/[\\"`]/.test(token.slice(1, -1))
}

/** Whether the query is an INSERT in plain form that only data can follow. VALUES are expressions and do not count. */
export function takesDataOnly(query: string): boolean {
  const insert = plainInsertOf(query)
  return insert?.isWhole === true && insert.format !== 'VALUES'
}

/** End of the format's name in an INSERT in plain form, where its data start. Undefined for VALUES, which are expressions. */
export function plainDataStart(text: string): number | undefined {
  const insert = plainInsertOf(text)
  return insert === undefined || insert.format === 'VALUES' ? undefined : insert.end
}

/** The text after VALUES in a plain INSERT; undefined for other forms. */
export function valuesOf(text: string): string | undefined {
  const insert = plainInsertOf(text)
  if (insert === undefined || insert.format !== 'VALUES') return undefined
  return trimmed(text.slice(insert.end))
}

/** Trims blanks and semicolons at the end. A regular expression would take minutes for long runs of blanks. */
function trimmed(text: string): string {
  let end = text.length
  while (end > 0 && /[;\s]/.test(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** Adds FROM INFILE to an INSERT in plain form; undefined for other forms. @param path relative, without glob characters */
export function insertFromFile(query: string, path: string): string | undefined {
  const insert = plainInsertOf(query)
  if (!insert?.isWhole) return undefined
  const { intoEnd, settingsAt, formatAt, format, end } = insert
  const settings = query.slice(settingsAt, formatAt)
  return `${query.slice(0, intoEnd)} FROM INFILE ${quote(path)} ${settings} ${format === 'VALUES' ? 'FORMAT Values' : query.slice(formatAt, end)}`
}

/** Statements with more text before their data are not split. */
export const SPLIT_HEAD_BYTES = 65_536

/** The text of an INSERT, and the position of its data. */
interface SplitInsert {
  /** In plain form, without comments. */
  readonly query: string
  /** Bytes of `body` before the data; negative when they begin in the query. */
  readonly dataAt: number
  /** Whether the data are expressions, which must be judged. */
  readonly hasValues: boolean
}

/**
 * Splits an INSERT in plain form from its data; undefined for other forms. `query` has no comments, so that the judgement
 * and the engine cannot disagree on their end.
 * @param query the text before the body; may be empty
 * @param body the first SPLIT_HEAD_BYTES are enough
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
  // The head may be cut within the format's name or within blanks.
  if (dataAt >= before.length + SPLIT_HEAD_BYTES) return undefined
  const head = Buffer.from(plain.slice(0, insert.end), 'latin1')
  const statement = head.toString('utf8')
  if (!Buffer.from(statement).equals(head)) return undefined
  return { query: statement, dataAt: dataAt - before.length, hasValues }
}

/**
 * The start of a statement with one character per byte, so that indexes in the text are indexes in the bytes. The syntax of SQL
 * is ASCII.
 */
export function headText(query: string, body: Buffer): string {
  const before = query === '' ? '' : Buffer.from(`${query}\n`).toString('latin1')
  return before + body.toString('latin1', 0, SPLIT_HEAD_BYTES)
}

/** Replaces comments by blanks. All tokens keep their positions. */
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
 * The start of the data, as in ClickHouse: after the line break that follows the format's name, or else after blanks.
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
