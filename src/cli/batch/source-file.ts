import { createReadStream, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { InputError } from '../../core/run/errors.ts'
import type { CliContext } from '../context.ts'
import type { BadRows } from './bad-rows.ts'
import type { LineConverter, ReadOptions } from './conversion.ts'
import { CsvConverter } from './csv-events.ts'
import { sniffDialect } from './csv-record.ts'
import { LineSplitter } from './lines.ts'
import { demandAddress, NdjsonConverter } from './ndjson-events.ts'

export const FORMATS = ['ndjson', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export interface SourceChoice extends ReadOptions {
  /** Undefined: by the content. */
  readonly format: Format | undefined
  /** A label of the WHATWG Encoding Standard; undefined: UTF-8, or UTF-16 with a byte order mark. */
  readonly encoding: string | undefined
}

/** Every row of the file is among the bad ones: there is nothing to send. */
export class NoGoodRowsError extends InputError {
  override name = 'NoGoodRowsError'
}

/** A file as it is uploaded. */
export interface Source {
  /** Bytes that will be read; undefined when that is not known. */
  readonly bytes: number | undefined
  /** Whether `body` is gzip: what came so goes so. */
  readonly gzip: boolean
  /** NDJSON. Fails with `InputError` when the file cannot be read to its end, or has no event. */
  readonly body: Readable
}

/** What is looked at to tell what a file is. */
const SAMPLE_BYTES = 65_536
const READ_BYTES = 262_144

/**
 * Opens a file of events: NDJSON or CSV, plain or gzip, by what is in it and not by its name.
 * @param onRead called with the bytes read so far, as they are in the file
 * @param bad gets the rows that are not sent
 * @throws InputError when it cannot be read, is something else, or has no address
 */
export async function openSource(
  file: string,
  choice: SourceChoice,
  context: CliContext,
  onRead: (bytes: number) => void,
  bad: BadRows,
): Promise<Source> {
  const bytes = file === '-' ? undefined : sizeOf(file)
  const raw = file === '-' ? context.stdin : createReadStream(file, { highWaterMark: READ_BYTES })
  const [head, all] = await peek(counted(raw, onRead), 4)
  const gzip = head[0] === 0x1f && head[1] === 0x8b
  if (!gzip) refuseOtherFiles(file, head)
  const [sample, decoded] = await peek(inUtf8(gzip ? gunzipped(file, all) : all, choice.encoding), SAMPLE_BYTES)
  const converter = converterFor(file, sample, choice, bad)
  const events = Readable.from(converted(decoded, converter, bad), { objectMode: false })
  if (!gzip) return { bytes, gzip, body: events }
  const body = createGzip({ level: 1 })
  pipeline(events, body).catch((error: Error) => body.destroy(error))
  return { bytes, gzip, body }
}

function sizeOf(file: string): number {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats?.isFile()) throw new InputError(`${file} is not a file that can be read`)
  return stats.size
}

async function* counted(raw: AsyncIterable<Buffer>, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  let bytes = 0
  try {
    for await (const chunk of raw) {
      bytes += chunk.length
      onRead(bytes)
      yield chunk
    }
  } catch (error) {
    throw new InputError(`cannot read the file: ${(error as Error).message}`)
  }
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

function refuseOtherFiles(file: string, head: Buffer): void {
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
    if (error instanceof InputError) throw error
    throw new InputError(`${file}: its gzip is broken or cut off: ${(error as Error).message}`)
  }
}

/** Without a byte order mark. */
async function* inUtf8(source: AsyncIterable<Buffer>, encoding: string | undefined): AsyncGenerator<Buffer> {
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

function converterFor(file: string, sample: Buffer, choice: SourceChoice, bad: BadRows): LineConverter {
  const text = sample.toString('utf8')
  if (text.trim() === '') throw new InputError(`${file} is empty`)
  const format = choice.format ?? formatOf(file, text)
  const lines = text.split(/\r?\n/)
  // The last one may be cut off, unless it is all there is.
  const whole = lines.length > 1 && sample.length >= SAMPLE_BYTES ? lines.slice(0, -1) : lines
  if (format === 'csv') return new CsvConverter(sniffDialect(whole), choice, bad)
  demandAddress(whole, choice.map)
  return new NdjsonConverter(choice, bad)
}

function formatOf(file: string, text: string): Format {
  const start = text.trimStart()
  if (start.startsWith('{')) return 'ndjson'
  if (start.startsWith('[')) {
    throw new InputError(`${file} is one JSON array: it wants an object a line, as "jq -c '.[]' FILE" prints them`)
  }
  return /\.(ndjson|jsonl)(\.gz)?$/i.test(file) ? 'ndjson' : 'csv'
}

async function* converted(
  source: AsyncIterable<Buffer>,
  converter: LineConverter,
  bad: BadRows,
): AsyncGenerator<Buffer> {
  const splitter = new LineSplitter()
  let lines: string[] = []
  let hasEvents = false
  const emit = (line: string) => {
    lines.push(line)
    if (line !== '') hasEvents = true
  }
  const take = () => {
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
  if (!hasEvents && bad.count > 0) throw new NoGoodRowsError(`none of the ${bad.count} rows can be read`)
  if (!hasEvents) throw new InputError('the file has no events')
  if (lines.length > 0) yield take()
}
