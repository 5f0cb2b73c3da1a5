import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'
import { InputError } from '../../../run/errors.ts'
import { TimeSlice } from '../../time-slice.ts'
import { chunksOf, LINE_BYTES_MAX, lineError } from './text-file.ts'

/** A record of a CSV file and the number of its last line. */
interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

/**
 * The records of a CSV file (RFC 4180). Quoted cells may hold commas and line feeds. Skips blank lines and lines that start
 * with `#`; trims cells. Plain lines are split directly, which is faster than the parser. Yields to other work.
 * @throws InputError with the line of a malformed record
 */
export async function* csvRows(text: Buffer, sameColumns: boolean): AsyncGenerator<CsvRow> {
  const slice = new TimeSlice()
  let rows = 0
  let columns: number | undefined
  for (const { line, text: content } of plainLines(text)) {
    if (line % LINES_AT_A_TIME === 0 && slice.isOver) await slice.next()
    if (content === '' || content?.startsWith('#')) continue
    const cells = content === undefined ? undefined : plainCells(content)
    // The parser handles the rest from here on. It must start at the top, so skip the rows that were yielded.
    if (cells === undefined || (sameColumns && cells.length !== (columns ?? cells.length))) {
      for await (const row of parsedRows(text, sameColumns)) if (rows-- <= 0) yield row
      return
    }
    columns = cells.length
    rows++
    yield { line, cells }
  }
}

const LINES_AT_A_TIME = 200

/** Lines with the line ending of the first one; undefined for a line with another one. */
function* plainLines(text: Buffer): Generator<{ readonly line: number; readonly text: string | undefined }> {
  const first = text.indexOf(10)
  const ending = first > 0 && text[first - 1] === 13 ? '\r' : ''
  for (let at = 0, line = 1; at < text.length; line++) {
    const found = text.indexOf(10, at)
    const end = found < 0 ? text.length : found
    if (end - at > LINE_BYTES_MAX) throw lineError(line, `longer than ${LINE_BYTES_MAX} bytes`)
    const content = text.toString('utf8', at, end)
    const plain = found >= 0 && content.endsWith(ending) ? content.slice(0, content.length - ending.length) : content
    yield { line, text: plain.includes('\r') || (ending !== '' && plain === content && found >= 0) ? undefined : plain }
    at = found < 0 ? text.length : found + 1
  }
}

/** The cells of a line; undefined when it needs the parser. */
export function plainCells(line: string): string[] | undefined {
  if (/^\s*(?:#|$)/.test(line)) return undefined
  if (!line.includes('"')) return line.split(',').map((cell) => cell.trim())
  const cells: string[] = []
  for (let at = 0; ; at++) {
    const start = afterBlanks(line, at)
    const isQuoted = line[start] === '"'
    const close = isQuoted ? closingQuote(line, start) : start
    const comma = line.indexOf(',', close)
    const end = comma < 0 ? line.length : comma
    if (close < 0 || (isQuoted ? afterBlanks(line, close + 1) !== end : line.slice(start, end).includes('"')))
      return undefined
    cells.push(isQuoted ? line.slice(start + 1, close).replaceAll('""', '"') : line.slice(start, end).trim())
    if (comma < 0) return cells
    at = comma
  }
}

/** Index of the first character from `at` on that is neither a space nor a tab; the length of the line without one. */
function afterBlanks(line: string, at: number): number {
  while (line[at] === ' ' || line[at] === '\t') at++
  return Math.min(at, line.length)
}

/** Index of the quote that closes the one at `open`; two quotes in a row are an escaped quote; -1 for none. */
function closingQuote(line: string, open: number): number {
  let at = line.indexOf('"', open + 1)
  while (at >= 0 && line[at + 1] === '"') at = line.indexOf('"', at + 2)
  return at
}

async function* parsedRows(text: Buffer, sameColumns: boolean): AsyncGenerator<CsvRow> {
  const parser = Readable.from(pausing(text), { objectMode: false }).pipe(
    parse({
      info: true,
      trim: true,
      comment: '#',
      comment_no_infix: true,
      skip_empty_lines: true,
      relax_column_count: !sameColumns,
      // An unclosed quote would swallow the rest of the file.
      max_record_size: LINE_BYTES_MAX,
    }),
  )
  try {
    for await (const { info, record } of parser) yield { line: info.lines, cells: record }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const line = 'lines' in error && typeof error.lines === 'number' ? error.lines : undefined
    const reason = error.message.replace(/,? (?:at|on) line \d+/, '')
    throw line === undefined ? new InputError(reason) : lineError(line, reason)
  }
}

async function* pausing(text: Buffer): AsyncGenerator<Buffer> {
  for (const chunk of chunksOf(text)) {
    yield chunk
    await setImmediate()
  }
}
