import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { derivedUuid } from '../../../run/derived-uuid.ts'
import { type PullFile, PullRefusedError } from '../../declaration/pull.ts'
import type { Proxies } from '../../event/client-address.ts'
import { peek } from '../batch/files/encoding.ts'
import { isGzip, isZlibError } from '../batch/files/event-file.ts'
import { type BadLine, LineSplitter } from '../batch/files/lines.ts'
import { lineOfResult, rejectedLine } from '../batch/read-chunk.ts'
import {
  formatFor,
  formatNamed,
  formatOfLines,
  LINE_FORMATS,
  SAMPLE_LINES,
  STARTUP_LINES_MAX,
} from '../formats/formats.ts'
import { CUT_OFF, eventLine, type LineFormat, type LineReader, readLine } from '../formats/line-format.ts'

/** In place of a format's name: recognise it by the content. */
export const AUTO = 'auto'
/** The values of `--format`. */
export const PULL_FORMATS: readonly string[] = [AUTO, ...LINE_FORMATS.map(({ name }) => name)]

interface LineOptions {
  /** See `PullItem.id`. */
  readonly id: string
  /** One of `PULL_FORMATS`. */
  readonly format: string
  /** When the item was written, milliseconds. */
  readonly atMs: number
  /** Lines at the start that become no events, because they did so earlier. */
  readonly skip: number
  /** See `ReadLineOptions`. */
  readonly trusted?: Proxies | undefined
}

/** Lines of an upload, made of some lines of an item. */
export interface EventLines {
  /** Each ends with a line feed. */
  readonly bytes: Buffer
  /** How many. */
  readonly lines: number
  /** How many of these are lines that cannot be events. */
  readonly rejected: number
  /** How many of these only count a request that is no page view. */
  readonly noPage: number
  /** Lines of the item so far, including those without an event. */
  readonly read: number
}

/** Most bytes of an item, unpacked. A tiny file can be packed so that it never ends. */
const UNPACKED_BYTES_MAX = 64 * 2 ** 30
const READ_BYTES = 262_144
const MAGIC_BYTES = 4
/** Includes blank ones. */
const SAMPLE_LINES_MAX = 10_000
/** Enough of long lines. Each piece of the file is searched for a format again until then. */
const SAMPLE_CHARS_MAX = 1_048_576

const OTHER_FILES: readonly (readonly [start: string, what: string])[] = [
  ['PAR1', 'Parquet: let the export write JSON lines (JSONLines, NDJSON) instead'],
  ['Obj\x01', 'Avro: let the export write JSON lines instead'],
  ['ORC', 'ORC: let the export write JSON lines instead'],
  ['PK\x03\x04', 'a ZIP archive: let the export write gzip instead'],
  ['BZh', 'compressed with bzip2: let the export use gzip instead'],
  ['\x28\xb5\x2f\xfd', 'compressed with zstd: let the export use gzip instead'],
  ['\xfd7zX', 'compressed with xz: let the export use gzip instead'],
]

/**
 * Reads an item's files, plain or gzip, and makes the lines of an upload of their events. Which lines it makes depends on the item
 * alone. Holds a few lines.
 * @throws PullRefusedError when the content is of no known format, or damaged
 */
export async function* eventLines(files: AsyncIterable<PullFile>, options: LineOptions): AsyncGenerator<EventLines> {
  let read = 0
  for await (const { bytes } of files) {
    const reader = new ItemReader(options, read)
    try {
      for await (const lines of linesOf(bytes)) {
        const piece = reader.read(lines)
        if (piece !== undefined) yield piece
      }
      for (const rest of [reader.end(), reader.cutOff()]) if (rest !== undefined) yield rest
    } finally {
      // Closes a source that was not read to its end.
      if (bytes instanceof Readable) bytes.destroy()
      else await bytes[Symbol.asyncIterator]().return?.(undefined)
    }
    read = reader.linesRead
  }
}

async function* linesOf(source: AsyncIterable<Buffer>): AsyncGenerator<(string | BadLine)[]> {
  const [head, all] = await peek(source, MAGIC_BYTES)
  const start = head.toString('latin1')
  const other = OTHER_FILES.find(([magic]) => start.startsWith(magic))?.[1]
  if (other !== undefined) throw new PullRefusedError(`it is ${other}`)
  const splitter = new LineSplitter('let the export write UTF-8')
  let unpacked = 0
  for await (const bytes of isGzip(head) ? gunzipped(all) : all) {
    unpacked += bytes.length
    if (unpacked > UNPACKED_BYTES_MAX)
      throw new PullRefusedError(`it is larger than ${UNPACKED_BYTES_MAX} bytes unpacked`)
    const lines = splitter.push(bytes)
    if (lines.length > 0) yield lines
  }
  const last = splitter.end()
  if (last.length > 1 || last[0] !== '') yield last
}

async function* gunzipped(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: READ_BYTES })
  const packed = pipeline(source, gunzip)
  packed.catch((error: Error) => gunzip.destroy(error))
  try {
    yield* gunzip
    await packed
  } catch (error) {
    throw isZlibError(error) ? new PullRefusedError(`its gzip data is damaged: ${error.message}`) : error
  } finally {
    gunzip.destroy()
  }
}

/** Reads the lines of one file of an item. */
class ItemReader {
  readonly #options: LineOptions
  /** The first lines, until the format is known. */
  #sample: (string | BadLine)[] = []
  /** How many of them are not blank. */
  #samples = 0
  #sampleChars = 0
  #reader: LineReader | undefined
  #read: number

  constructor(options: LineOptions, linesBefore: number) {
    this.#options = options
    this.#read = linesBefore
  }

  /** Lines of this file and those before it. */
  get linesRead(): number {
    return this.#read
  }

  read(lines: readonly (string | BadLine)[]): EventLines | undefined {
    if (this.#reader !== undefined) return this.#translate(lines, this.#reader)
    this.#sample.push(...lines)
    this.#samples += lines.filter((line) => !isBlank(line)).length
    for (const line of lines) if (typeof line === 'string') this.#sampleChars += line.length
    const isEnough =
      (this.#samples > 0 && this.#sampleChars >= SAMPLE_CHARS_MAX) ||
      this.#samples >= STARTUP_LINES_MAX ||
      this.#sample.length >= SAMPLE_LINES_MAX ||
      (this.#samples >= SAMPLE_LINES && formatOf(this.#options.format, this.#texts) !== undefined)
    return isEnough ? this.#begin() : undefined
  }

  /** The file has no more lines. */
  end(): EventLines | undefined {
    return this.#reader === undefined && this.#samples > 0 ? this.#begin() : undefined
  }

  /** The rejected line for parts whose rest is missing. Call it after `end`. */
  cutOff(): EventLines | undefined {
    if (this.#reader?.isBetween !== false) return undefined
    return { bytes: Buffer.from(`${rejectedLine(CUT_OFF)}\n`), lines: 1, rejected: 1, noPage: 0, read: this.#read }
  }

  get #texts(): readonly string[] {
    return this.#sample.filter((line) => typeof line === 'string')
  }

  #begin(): EventLines | undefined {
    const { format: name, atMs: nowMs, trusted } = this.#options
    const format = formatOf(name, this.#texts)
    if (format === undefined) throw new PullRefusedError(UNKNOWN)
    this.#reader = format.reader({ all: false, nowMs, trusted })
    const lines = this.#sample
    this.#sample = []
    return this.#translate(lines, this.#reader)
  }

  #translate(lines: readonly (string | BadLine)[], reader: LineReader): EventLines | undefined {
    const { skip, id } = this.#options
    const made: string[] = []
    let [rejected, noPage] = [0, 0]
    for (const line of lines) {
      const number = ++this.#read
      if (isBlank(line)) continue
      const result =
        typeof line === 'string'
          ? readLine(reader, line, (event) => eventLine(event, () => derivedUuid(`${id}\n${number}`)))
          : { rejected: line.problem }
      const text = number <= skip ? undefined : lineOfResult(result)
      if (text === undefined) continue
      if ('rejected' in result) rejected++
      if ('skipped' in result) noPage++
      made.push(text)
    }
    if (made.length === 0) return undefined
    return { bytes: Buffer.from(`${made.join('\n')}\n`), lines: made.length, rejected, noPage, read: this.#read }
  }
}

function isBlank(line: string | BadLine): boolean {
  return typeof line === 'string' && line.trim() === ''
}

const UNKNOWN = 'no format of exports or logs is recognised in its first lines: name one with --format'

function formatOf(name: string, lines: readonly string[]): LineFormat | undefined {
  if (name === AUTO) return formatOfLines(lines)
  const format = formatNamed(name)
  return format && formatFor(format, lines)
}
