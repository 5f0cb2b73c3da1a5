import { constants, createGunzip } from 'node:zlib'
import { PREVIEW_BYTES } from '../../../../../schemas/dashboard/uploads.ts'
import { InputError } from '../../../../run/errors.ts'
import type { EventCheck } from '../../../declaration/source.ts'
import { type Address, parseAddress } from '../../../event/address.ts'
import { readLine } from '../read-chunk.ts'
import { columnsOfCsv, columnsOfNdjson, guessedMap, type NamedColumn } from './columns.ts'
import { type BadRow, type KeyMap, type LineConverter, shownText } from './conversion.ts'
import { CsvConverter } from './csv-events.ts'
import { sniffDialect } from './csv-record.ts'
import { endsLinesWithReturns, inUtf8, withLineFeeds } from './encoding.ts'
import {
  brokenGzip,
  type FileChoice,
  type Format,
  formatOf,
  isGzip,
  isZlibError,
  refuseOtherFiles,
  SAMPLE_BYTES,
  wholeLines,
} from './event-file.ts'
import { LineSplitter } from './lines.ts'
import { assertAddress, NdjsonConverter } from './ndjson-events.ts'
import { smallPieces } from './small-pieces.ts'

interface PreviewedRow {
  /** Counted from 1. */
  readonly line: number
  /** JSON. */
  readonly event: string | undefined
  readonly problem: string | undefined
  /** Set for an event without a problem. */
  readonly address?: Address
  readonly eventId?: string | undefined
}

/** The start of a file as an upload would read it. */
export interface FilePreview {
  readonly format: Format
  readonly gzip: boolean
  readonly delimiter: string | undefined
  readonly columns: readonly NamedColumn[]
  readonly rows: readonly PreviewedRow[]
  /** Why the upload would be refused. */
  readonly problem: string | undefined
  /** How much was read: bytes of the file, the same without gzip, lines, and bytes as NDJSON. */
  readonly sample: {
    readonly bytes: number
    readonly plainBytes: number
    readonly lines: number
    readonly eventBytes: number
  }
}

interface PreviewChoice extends FileChoice {
  /** Whether the bytes are the whole file. Otherwise they may end anywhere. */
  readonly isWhole: boolean
  /** Whether to guess the columns of address and time. Only without a map. */
  readonly guesses: boolean
}

const ROWS_MAX = 20
const SLICE_BYTES = 8_192
/** Most bytes to read after gunzip. The browser sends as many of a plain file. */
const PLAIN_BYTES_MAX = PREVIEW_BYTES
/** Reading stops after this many bytes of events: enough to estimate the size of the whole upload. */
const EVENT_BYTES_MAX = 4_194_304

/**
 * Reads the start of a file as an upload would.
 * @throws InputError when it is not a file of events
 */
export async function previewFile(
  name: string,
  head: Buffer,
  choice: PreviewChoice,
  check: EventCheck,
): Promise<FilePreview> {
  const gzip = isGzip(head)
  if (!gzip) refuseOtherFiles(name, head)
  const { bytes, isCut, readBytes } = gzip ? await unpacked(name, head, choice.isWhole) : plain(head, choice.isWhole)
  const text = await decoded(bytes, choice.encoding)
  const sample = text.subarray(0, SAMPLE_BYTES).toString('utf8')
  const format = choice.format ?? formatOf(name, sample)
  const lines = wholeLines(sample, isCut || text.length > SAMPLE_BYTES)
  const dialect = format === 'csv' ? sniffDialect(lines) : undefined
  const columnsFor = (map: KeyMap) =>
    dialect === undefined ? columnsOfNdjson(lines, map) : columnsOfCsv(lines, dialect, map)
  const seen = new Rows(check)
  let columns: readonly NamedColumn[] = []
  let problem: string | undefined
  let readShare = 1
  try {
    columns = columnsFor(choice.map)
    const map = choice.guesses && choice.map.size === 0 ? guessedMap(columns) : choice.map
    if (map !== choice.map) columns = columnsFor(map)
    const options = { ...choice, map }
    if (dialect === undefined) assertAddress(lines, options)
    const converter = dialect === undefined ? new NdjsonConverter(options) : new CsvConverter(dialect, options)
    readShare = (await read(text, converter, isCut, options.advice.encoding, seen)) / text.length
    if (!isCut && seen.events === 0 && seen.rows.length === 0) problem = 'the file has no events'
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    problem = error.message
  }
  const size = {
    ...{ bytes: Math.round(readBytes * readShare), plainBytes: Math.round(bytes.length * readShare) },
    ...{ lines: seen.lines, eventBytes: seen.eventBytes },
  }
  return { format, gzip, delimiter: dialect?.delimiter, columns, rows: seen.rows, problem, sample: size }
}

interface Beginning {
  readonly bytes: Buffer
  readonly isCut: boolean
  /** Bytes of the file, before gunzip. */
  readonly readBytes: number
}

function plain(head: Buffer, isWhole: boolean): Beginning {
  const bytes = head.subarray(0, PLAIN_BYTES_MAX)
  return { bytes, isCut: !isWhole || bytes.length < head.length, readBytes: bytes.length }
}

async function unpacked(name: string, head: Buffer, isWhole: boolean): Promise<Beginning> {
  // Z_SYNC_FLUSH accepts truncated gzip data.
  const gunzip = createGunzip(isWhole ? {} : { finishFlush: constants.Z_SYNC_FLUSH })
  const parts: Buffer[] = []
  let size = 0
  gunzip.end(head)
  try {
    for await (const part of gunzip as AsyncIterable<Buffer>) {
      parts.push(part)
      size += part.length
      if (size >= PLAIN_BYTES_MAX) break
    }
  } catch (error) {
    throw isZlibError(error) ? brokenGzip(name, error) : error
  }
  const bytes = Buffer.concat(parts).subarray(0, PLAIN_BYTES_MAX)
  const isCut = !isWhole || size >= PLAIN_BYTES_MAX
  return { bytes, isCut, readBytes: Math.min(head.length, gunzip.bytesWritten) }
}

async function decoded(bytes: Buffer, encoding: string | undefined): Promise<Buffer> {
  async function* whole() {
    yield bytes
  }
  const parts: Buffer[] = []
  for await (const part of inUtf8(whole(), encoding)) parts.push(part)
  const text = Buffer.concat(parts)
  return endsLinesWithReturns(text.subarray(0, SAMPLE_BYTES)) ? withLineFeeds(text) : text
}

/** Converts the text, with pauses for the event loop. Returns how many bytes it read. */
async function read(
  text: Buffer,
  converter: LineConverter,
  isCut: boolean,
  advice: string,
  rows: Rows,
): Promise<number> {
  const splitter = new LineSplitter(advice)
  const emit = (line: string | BadRow) => rows.add(line)
  async function* whole() {
    yield text
  }
  let bytes = 0
  for await (const slice of smallPieces(whole(), SLICE_BYTES)) {
    bytes += slice.length
    for (const line of splitter.push(slice)) converter.push(line, emit)
    if (rows.eventBytes > EVENT_BYTES_MAX) return bytes
  }
  // The last line may be incomplete.
  if (isCut) return bytes
  for (const line of splitter.end()) if (line !== '') converter.push(line, emit)
  converter.end(emit)
  return bytes
}

/** Counts converted lines, and keeps the first rows. */
class Rows {
  readonly rows: PreviewedRow[] = []
  lines = 0
  events = 0
  eventBytes = 0
  readonly #check: EventCheck

  constructor(check: EventCheck) {
    this.#check = check
  }

  add(line: string | BadRow): void {
    this.lines++
    if (typeof line === 'string') {
      this.eventBytes += Buffer.byteLength(line) + 1
      if (line.trim() === '') return
      this.events++
    }
    if (this.rows.length < ROWS_MAX) this.rows.push(typeof line === 'string' ? this.#event(line) : badRow(line))
  }

  #event(text: string): PreviewedRow {
    const { lines: line } = this
    const event = readLine(text, { check: this.#check })
    if ('fault' in event)
      return {
        line,
        event: event.fault === 'not JSON' || event.fault === 'too deep' ? undefined : text,
        problem: event.detail,
      }
    const address = parseAddress(event.ip)
    if (address !== undefined) return { line, event: text, problem: undefined, address, eventId: event.event_id }
    const problem = `ip ${JSON.stringify(shownText(event.ip))} is not an address: the row is counted but not stored`
    return { line, event: text, problem }
  }
}

function badRow({ line, detail }: BadRow): PreviewedRow {
  return { line, event: undefined, problem: detail }
}
