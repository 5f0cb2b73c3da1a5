import { IMPORT_LIMITS } from '../../../schemas/api/company-import.ts'
import { TimeSlice } from '../../enrichment/time-slice.ts'
import {
  type CsvDialect,
  namedDelimiter,
  RecordReader,
  sniffDialect,
} from '../../pipeline/sources/batch/files/csv-record.ts'
import { inUtf8, isEncoding, peek } from '../../pipeline/sources/batch/files/encoding.ts'
import { isGzip, refuseOtherFiles, unzipped } from '../../pipeline/sources/batch/files/event-file.ts'
import { InputError } from '../../run/errors.ts'

/** A row of a list. */
export interface ListRow {
  /** In the file, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** A CSV file in memory. */
export interface CompanyList {
  readonly header: readonly string[]
  /** Without blank ones. */
  readonly rows: readonly ListRow[]
  /** The mark before decimals where a number does not tell: `,` in files with semicolons, as spreadsheets write them. */
  readonly decimal: '.' | ','
}

/** Programs on Windows write CSV in it, and it has a letter for each byte. */
const NOT_UTF8 = 'windows-1252'
const HEAD_CHARS = 65_536
const MEBIBYTE = 1_048_576

/**
 * Reads a list of companies: CSV with a header, plain or gzip. It detects delimiter, quotes and encoding.
 * @param name of the file, for messages
 * @param encoding a label of the WHATWG Encoding Standard; undefined: UTF-8 or UTF-16, or windows-1252 when it is neither
 * @throws InputError when it cannot be read, or is larger than `IMPORT_LIMITS`
 */
export async function readList(name: string, source: AsyncIterable<Buffer>, encoding?: string): Promise<CompanyList> {
  if (encoding !== undefined && !isEncoding(encoding)) {
    throw new InputError('encoding must be a name such as windows-1252 or utf-16le')
  }
  const [head, all] = await peek(source, 4)
  if (!isGzip(head)) refuseOtherFiles(name, head)
  const bytes = await collected(inUtf8(limited(name, isGzip(head) ? unzipped(name, all) : all), encoding))
  const text = textOf(bytes).replace(/\r\n?/g, '\n')
  const [first = ''] = text.slice(0, HEAD_CHARS).split('\n', 1)
  if (/^\s*[[{]/.test(first)) throw new InputError(`${name} is JSON: save the list as CSV`)
  const dialect = sniffDialect(text.slice(0, HEAD_CHARS).split('\n').slice(0, -1))
  const rows: ListRow[] = []
  let header: readonly string[] | undefined
  for await (const row of recordsOf(text, dialect)) {
    if (row.cells.every((cell) => cell.trim() === '')) continue
    if (header === undefined) {
      // Excel may write `sep=;` before the header.
      if (row.line === 1 && namedDelimiter(row.cells.join(dialect.delimiter)) !== undefined) continue
      header = headerOf(row.cells)
      continue
    }
    if (rows.length === IMPORT_LIMITS.rows) {
      throw new InputError(`the list has more than ${IMPORT_LIMITS.rows} rows: split it`)
    }
    rows.push(row)
  }
  if (header === undefined) throw new InputError(`${name} is empty`)
  return { header, rows, decimal: dialect.delimiter === ';' ? ',' : '.' }
}

async function* limited(name: string, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of source) {
    bytes += piece.length
    if (bytes > IMPORT_LIMITS.bytes) {
      throw new InputError(
        `${name} has more than ${IMPORT_LIMITS.bytes / MEBIBYTE} MiB: split it, or leave out columns`,
      )
    }
    yield piece
  }
}

async function collected(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of source) pieces.push(piece)
  return Buffer.concat(pieces)
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder(NOT_UTF8).decode(bytes)
  }
}

/** @throws InputError for a quote that is not closed */
async function* recordsOf(text: string, dialect: CsvDialect): AsyncGenerator<ListRow> {
  const slice = new TimeSlice()
  const records = new RecordReader(dialect)
  let openedAt = 0
  let line = 0
  for (let at = 0; at < text.length; ) {
    const found = text.indexOf('\n', at)
    const end = found < 0 ? text.length : found
    line++
    if (openedAt === 0) openedAt = line
    const cells = records.push(text.slice(at, end))
    at = end + 1
    if (cells === 'broken') throw new InputError(`line ${openedAt} of the list has text after a closing quote`)
    if (cells === 'open') continue
    yield { line: openedAt, cells }
    openedAt = 0
    if (slice.isOver) await slice.next()
  }
  if (openedAt !== 0) throw new InputError(`line ${openedAt} of the list has a quote that is not closed`)
}

function headerOf(cells: readonly string[]): string[] {
  const header = cells.map((cell) => cell.trim())
  if (header.length > IMPORT_LIMITS.columns) {
    throw new InputError(`the list has ${header.length} columns, more than ${IMPORT_LIMITS.columns}: leave out some`)
  }
  const long = header.find((name) => name.length > IMPORT_LIMITS.headerMaxChars)
  if (long === undefined) return header
  throw new InputError(
    `the name of a column begins with “${long.slice(0, 40)}” and has more than ${IMPORT_LIMITS.headerMaxChars} characters: ` +
      'the first line must be the header',
  )
}
