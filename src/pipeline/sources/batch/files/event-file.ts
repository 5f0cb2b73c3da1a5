import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { InputError } from '../../../../run/errors.ts'
import { otherShapeOf } from '../other-shapes.ts'
import type { BadRow, LineConverter, ReadOptions } from './conversion.ts'
import { CsvConverter } from './csv-events.ts'
import { sniffDialect } from './csv-record.ts'
import { endsLinesWithReturns, inUtf8, peek, withLineFeeds } from './encoding.ts'
import { LineSplitter } from './lines.ts'
import { assertAddress, NdjsonConverter } from './ndjson-events.ts'

export const FORMATS = ['ndjson', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export interface FileChoice extends ReadOptions {
  /** Undefined: detected from the content. */
  readonly format: Format | undefined
  /** A label of the WHATWG Encoding Standard. Undefined: UTF-8 or UTF-16, detected from the first bytes. */
  readonly encoding: string | undefined
  /** Most lines to read, including blank ones. Default: no limit. */
  readonly linesMax?: number
}

/** Every row of the file is bad. */
export class NoGoodRowsError extends InputError {
  override name = 'NoGoodRowsError'
}

/** The file has no row at all. */
export class NoEventsError extends InputError {
  override name = 'NoEventsError'
}

/** An opened file of events. */
interface EventFile {
  readonly gzip: boolean
  /**
   * The file as NDJSON, line by line; may be iterated once. A piece has at most `PIECE_CHARS` characters plus one line. Fails with
   * `InputError` when the file cannot be read to its end or has no event, and with any error of the source.
   * @param standIn makes the line that replaces a bad row; without a line end
   */
  events(standIn: (row: BadRow) => string): AsyncGenerator<Buffer>
}

/** Enough bytes to detect format, dialect and columns. */
export const SAMPLE_BYTES = 65_536
const READ_BYTES = 262_144
/** Events are passed on in pieces of this size, because a few bytes of a file can become a lot of NDJSON. */
const PIECE_CHARS = 65_536

/**
 * Opens a file of events: NDJSON or CSV, plain or gzip, detected from the content.
 * @param name for messages
 * @param decoded wraps the bytes after gunzip; may throw to stop the reading
 * @throws InputError when the file has another format, or has no address
 */
export async function openEventFile(
  name: string,
  source: AsyncIterable<Buffer>,
  choice: FileChoice,
  decoded: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer> = (bytes) => bytes,
): Promise<EventFile> {
  const [head, all] = await peek(source, 4)
  const gzip = isGzip(head)
  if (!gzip) refuseOtherFiles(name, head)
  const plain = decoded(gzip ? unzipped(name, all) : all)
  const [start, text] = await peek(inUtf8(plain, choice.encoding), SAMPLE_BYTES)
  const hasReturns = endsLinesWithReturns(start)
  const converter = converterFor(name, hasReturns ? withLineFeeds(start) : start, choice)
  const lines = hasReturns ? eachWithLineFeeds(text) : text
  return { gzip, events: (standIn) => converted(lines, converter, choice, standIn) }
}

async function* eachWithLineFeeds(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const bytes of source) yield withLineFeeds(bytes)
}

export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b
}

const OTHER_FILES: readonly (readonly [start: string, what: string])[] = [
  ['PK\x03\x04', 'a ZIP archive or an Excel workbook: save it as CSV'],
  ['\xd0\xcf\x11\xe0', 'an Excel workbook: save it as CSV'],
  ['BZh', 'compressed with bzip2: unpack it, or use gzip'],
  ['\x28\xb5\x2f\xfd', 'compressed with zstd: unpack it, or use gzip'],
  ['\xfd7zX', 'compressed with xz: unpack it, or use gzip'],
  ['PAR1', 'a Parquet file: export it as CSV or NDJSON'],
]

/** @throws InputError when the file is empty, or its first bytes are those of a known binary format */
export function refuseOtherFiles(file: string, head: Buffer): void {
  if (head.length === 0) throw new NoEventsError(`${file} is empty`)
  const what = OTHER_FILES.find(([start]) => head.toString('latin1').startsWith(start))?.[1]
  if (what !== undefined) throw new InputError(`${file} is ${what}`)
}

export async function* unzipped(file: string, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: READ_BYTES })
  pipeline(source, gunzip).catch((error: Error) => gunzip.destroy(error))
  try {
    yield* gunzip
  } catch (error) {
    throw isZlibError(error) ? brokenGzip(file, error) : error
  }
}

export function isZlibError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
}

export function brokenGzip(file: string, { message }: Error): InputError {
  return new InputError(`${file}: the gzip data is damaged or truncated: ${message}`)
}

function converterFor(file: string, sample: Buffer, choice: FileChoice): LineConverter {
  const text = sample.toString('utf8')
  const format = choice.format ?? formatOf(file, text)
  const lines = wholeLines(text, sample.length >= SAMPLE_BYTES)
  if (format === 'csv') return new CsvConverter(sniffDialect(lines), choice)
  assertAddress(lines, choice)
  return new NdjsonConverter(choice)
}

/** @param isCut whether the last line may be incomplete; it is left out, unless it is the only one */
export function wholeLines(text: string, isCut: boolean): string[] {
  const lines = text.split(/\r?\n/)
  return isCut && lines.length > 1 ? lines.slice(0, -1) : lines
}

/** @throws InputError when the text is neither NDJSON nor CSV */
export function formatOf(file: string, text: string): Format {
  const start = text.trimStart()
  if (start === '') throw new NoEventsError(`${file} is empty`)
  const shape = otherShapeOf(start, true)
  if (shape !== undefined) throw new InputError(`${file} is ${shape}`)
  if (start.startsWith('{')) return 'ndjson'
  return /\.(ndjson|jsonl)(\.gz)?$/i.test(file) ? 'ndjson' : 'csv'
}

async function* converted(
  source: AsyncIterable<Buffer>,
  converter: LineConverter,
  { advice, linesMax = Number.POSITIVE_INFINITY }: FileChoice,
  standIn: (row: BadRow) => string,
): AsyncGenerator<Buffer> {
  const splitter = new LineSplitter(advice.encoding)
  let lines: string[] = []
  let chars = 0
  let hasEvents = false
  let firstBad: BadRow | undefined
  let badRows = 0
  let taken = 0
  const emit = (line: string | BadRow) => {
    const text = typeof line === 'string' ? line : standIn(line)
    lines.push(text)
    chars += text.length + 1
    if (typeof line !== 'string') {
      firstBad ??= line
      badRows++
    } else if (line !== '') hasEvents = true
  }
  const take = () => {
    taken += lines.length
    if (taken > linesMax) throw new InputError(`the file has more than ${linesMax} lines, most of them blank`)
    const bytes = Buffer.from(`${lines.join('\n')}\n`)
    lines = []
    chars = 0
    return bytes
  }
  for await (const chunk of source) {
    for (const line of splitter.push(chunk)) {
      converter.push(line, emit)
      if (chars >= PIECE_CHARS) yield take()
    }
    if (lines.length > 0) yield take()
  }
  // After the last line feed there is no line.
  for (const line of splitter.end()) if (line !== '') converter.push(line, emit)
  converter.end(emit)
  if (!hasEvents && firstBad !== undefined) {
    throw new NoGoodRowsError(`no row is readable (${badRows} bad); line ${firstBad.line} ${firstBad.detail}`)
  }
  if (!hasEvents) throw new NoEventsError('the file has no events')
  if (lines.length > 0) yield take()
}
