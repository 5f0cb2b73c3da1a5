import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { InputError } from '../../core/run/errors.ts'
import type { BadRow, LineConverter, ReadOptions } from './conversion.ts'
import { CsvConverter } from './csv-events.ts'
import { sniffDialect } from './csv-record.ts'
import { LineSplitter } from './lines.ts'
import { demandAddress, NdjsonConverter } from './ndjson-events.ts'

export const FORMATS = ['ndjson', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export interface FileChoice extends ReadOptions {
  /** Undefined: by the content. */
  readonly format: Format | undefined
  /** A label of the WHATWG Encoding Standard; undefined: UTF-8, or UTF-16 with a byte order mark. */
  readonly encoding: string | undefined
  /** Lines that are read at most, blank ones too. Default: as many as there are. */
  readonly linesMax?: number
}

/** Every row of the file is among the bad ones: there is nothing to send. */
export class NoGoodRowsError extends InputError {
  override name = 'NoGoodRowsError'
}

/** A file of events: NDJSON or CSV, plain or gzip, by what is in it and not by its name. */
export interface EventFile {
  readonly gzip: boolean
  /**
   * NDJSON, a line for each line of the file; to be iterated once. Fails with `InputError` when the file cannot be read to
   * its end, or has no event, and with what its source fails with.
   * @param standIn what is put in place of a row that cannot become an event; without a line end
   */
  events(standIn: (row: BadRow) => string): AsyncGenerator<Buffer>
}

/** What is looked at to tell what a file is. */
export const SAMPLE_BYTES = 65_536
const READ_BYTES = 262_144

/**
 * Looks into a file.
 * @param name for people
 * @param decoded is given the bytes without gzip, as they are read; may fail the reading
 * @throws InputError when it is something else, or has no address
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
  const plain = decoded(gzip ? gunzipped(name, all) : all)
  const [sample, text] = await peek(inUtf8(plain, choice.encoding), SAMPLE_BYTES)
  const converter = converterFor(name, sample, choice)
  return { gzip, events: (standIn) => converted(text, converter, choice, standIn) }
}

export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b
}

/** The first bytes, at least so many unless there are fewer, and all of them. */
async function peek(source: AsyncIterable<Buffer>, bytes: number): Promise<[head: Buffer, all: AsyncIterable<Buffer>]> {
  const iterator = source[Symbol.asyncIterator]()
  const chunks: Buffer[] = []
  let size = 0
  while (size < bytes) {
    const next = await iterator.next()
    if (next.done) break
    chunks.push(next.value)
    size += next.value.length
  }
  const head = Buffer.concat(chunks)
  async function* all(): AsyncGenerator<Buffer> {
    yield head
    yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return [head, all()]
}

const OTHER_FILES: readonly (readonly [start: string, what: string])[] = [
  ['PK\x03\x04', 'a ZIP archive or an Excel workbook: save it as CSV'],
  ['\xd0\xcf\x11\xe0', 'an Excel workbook: save it as CSV'],
  ['BZh', 'compressed with bzip2: unpack it, or use gzip'],
  ['\x28\xb5\x2f\xfd', 'compressed with zstd: unpack it, or use gzip'],
  ['\xfd7zX', 'compressed with xz: unpack it, or use gzip'],
  ['PAR1', 'a Parquet file: export it as CSV or NDJSON'],
]

/** @throws InputError when the first bytes are of no text, or there are none */
export function refuseOtherFiles(file: string, head: Buffer): void {
  if (head.length === 0) throw new InputError(`${file} is empty`)
  const what = OTHER_FILES.find(([start]) => head.toString('latin1').startsWith(start))?.[1]
  if (what !== undefined) throw new InputError(`${file} is ${what}`)
}

async function* gunzipped(file: string, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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
  return new InputError(`${file}: its gzip is broken or cut off: ${message}`)
}

/** Whether a label of the WHATWG Encoding Standard is known. */
export function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== ''
  } catch {
    return false
  }
}

/** Without a byte order mark. */
export async function* inUtf8(source: AsyncIterable<Buffer>, encoding: string | undefined): AsyncGenerator<Buffer> {
  const [head, all] = await peek(source, 3)
  const label = encoding ?? (head[0] === 0xff && head[1] === 0xfe ? 'utf-16le' : undefined)
  if (label === undefined) {
    let skip = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0
    for await (const chunk of all) {
      yield chunk.subarray(skip)
      skip = 0
    }
    return
  }
  const decoder = new TextDecoder(label)
  for await (const chunk of all) yield Buffer.from(decoder.decode(chunk, { stream: true }))
  yield Buffer.from(decoder.decode())
}

function converterFor(file: string, sample: Buffer, choice: FileChoice): LineConverter {
  const text = sample.toString('utf8')
  const format = choice.format ?? formatOf(file, text)
  const lines = wholeLines(text, sample.length >= SAMPLE_BYTES)
  if (format === 'csv') return new CsvConverter(sniffDialect(lines), choice)
  demandAddress(lines, choice)
  return new NdjsonConverter(choice)
}

/** @param isCut whether the text may end within a line; that one is left out, unless it is all there is */
export function wholeLines(text: string, isCut: boolean): string[] {
  const lines = text.split(/\r?\n/)
  return isCut && lines.length > 1 ? lines.slice(0, -1) : lines
}

/** @throws InputError when the text is neither */
export function formatOf(file: string, text: string): Format {
  const start = text.trimStart()
  if (start === '') throw new InputError(`${file} is empty`)
  if (start.startsWith('{')) return 'ndjson'
  if (start.startsWith('[')) {
    throw new InputError(`${file} is one JSON array: it wants an object a line, as "jq -c '.[]' FILE" prints them`)
  }
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
  let hasEvents = false
  let firstBad: BadRow | undefined
  let badRows = 0
  let taken = 0
  const emit = (line: string | BadRow) => {
    if (typeof line === 'string') {
      lines.push(line)
      if (line !== '') hasEvents = true
    } else {
      lines.push(standIn(line))
      firstBad ??= line
      badRows++
    }
  }
  const take = () => {
    taken += lines.length
    if (taken > linesMax) throw new InputError(`the file has more than ${linesMax} lines, most of them blank`)
    const bytes = Buffer.from(`${lines.join('\n')}\n`)
    lines = []
    return bytes
  }
  for await (const chunk of source) {
    for (const line of splitter.push(chunk)) converter.push(line, emit)
    if (lines.length > 0) yield take()
  }
  // Behind the last line feed there is no line.
  for (const line of splitter.end()) if (line !== '') converter.push(line, emit)
  converter.end(emit)
  if (!hasEvents && firstBad !== undefined) {
    throw new NoGoodRowsError(`none of the ${badRows} rows can be read; line ${firstBad.line} ${firstBad.detail}`)
  }
  if (!hasEvents) throw new InputError('the file has no events')
  if (lines.length > 0) yield take()
}
