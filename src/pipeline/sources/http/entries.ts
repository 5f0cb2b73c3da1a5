import { isUtf8 } from 'node:buffer'
import { gunzipSync } from 'node:zlib'
import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { EVENT_VALUES_MAX, JSON_DEPTH_MAX } from '../../../../schemas/api/event.ts'
import type { SourceFacts } from '../../../../schemas/api-key.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { Proxies } from '../../event/client-address.ts'
import { hasTooManyValues, isTooDeep, TOO_DEEP } from '../../event/json-depth.ts'
import { lineOfResult, NO_PAGE_LINE, rejectedLine } from '../batch/read-chunk.ts'
import { formatOfLines } from '../formats/formats.ts'
import { COMMENT, CUT_OFF, type LineJson, type LineReader, readLine } from '../formats/line-format.ts'
import { MAPPED_FIELDS, type Paths } from '../mapped-fields.ts'
import { mappedReader, mapsRequest, pageFilter, type ReadMapped } from '../mapping.ts'
import { instantOf } from '../tools/clock.ts'
import { parseExactly, stringifyExactly } from '../tools/exact-json.ts'
import { eventOf, type JsonObject, type ToolEvent, textOf, without } from '../tools/tool-event.ts'
import { type BodyValue, JsonValues, TOO_LONG_VALUE } from './json-values.ts'
import { type Preset, presetNamed } from './presets.ts'

/** Levels that an entry of a log may gain when it becomes an event: `properties`, and `http` in it. */
const LEVELS_ADDED = 2
/** Longest record of Amazon Data Firehose, 1,000 KiB, in base64 and with the JSON around it. */
const RECORD_MAX_BYTES = 1_500_000
const RECORD_MAX_DECODED_BYTES = 8_388_608
/** Bytes of entries that are read at once, and what an entry counts besides its bytes: most of its time, if it is small. */
const PART_BYTES = 32_768
const ENTRY_BYTES = 128
/** Small records are passed on together until they have this many bytes, decoded. */
const HELD_BYTES = 65_536
const GZIP_MAGIC = 0x1f8b
/** Longer lines are no lines of a log. */
const LOG_LINE_MAX_CHARS = 65_536
/** Bytes at the start of a document that say whether CloudWatch made it. */
const ENVELOPE_BYTES = 4_096
/** Visitors cannot write it: in a text its quotes are escaped. */
const CLOUDWATCH = /"messageType"\s*:\s*"(?:DATA|CONTROL)_MESSAGE"/
/** CloudWatch sends this to see whether the destination takes messages. */
const CONTROL_MESSAGE = 'CWL CONTROL MESSAGE'
const NO_LOG_LINE = 'is neither JSON nor a line of a known access log'
const TEST_UPLOAD = '{"content":"tests"}'

/** How the entries of a source become events. Shared by its requests. */
export interface EntryFormat {
  readonly preset: Preset | undefined
  readonly read: ReadMapped
  /** Whether an entry may be a page view. */
  mayBePage(entry: JsonObject, event: ToolEvent): boolean
  /** Whether requests that are no page views become events too. */
  readonly all: boolean
  /** See `ReadLineOptions`. */
  readonly trusted: Proxies | undefined
}

/** @param facts of the source @param trusted see `ReadLineOptions` */
export function entryFormat(
  { preset: name, map = {}, all = false }: Pick<SourceFacts, 'preset' | 'map' | 'all'>,
  trusted?: Proxies,
): EntryFormat {
  const preset = presetNamed(name)
  const paths = Object.fromEntries(
    MAPPED_FIELDS.map((field) => {
      const own = Object.hasOwn(map, field) ? [map[field]!] : []
      return [field, [...own, ...[preset?.paths[field] ?? []].flat()]]
    }),
  ) as Paths
  const { perhapsIp, isServed = () => true } = preset ?? {}
  const mayBePage = pageFilter(paths)
  // Programs send events through log shippers too. Where a source itself says which fields are those of a request, they are.
  const isOwnEvent = mapsRequest(map) ? () => false : ({ event_type: type }: ToolEvent) => type !== undefined
  return {
    ...{ preset, trusted, all },
    read: mappedReader(paths, { trusted, perhapsIp }),
    mayBePage: (entry, event) => isServed(entry) && (isOwnEvent(event) || mayBePage(entry, textOf(event.page?.url))),
  }
}

interface RequestFacts {
  /** The address of an event's visitor; undefined: there is none. */
  readonly addressOf: (event: ToolEvent) => unknown
  /** `''`, or Amazon Data Firehose's name of the request, the same in each of its attempts. */
  readonly firehoseRequestId: string
  /** Counts memory that the reader keeps. @param bytes negative when it needs less again @throws HttpError 429 */
  hold(bytes: number): void
}

/** Id and time that the sender gives next to an entry. They count only if the entry has none itself. */
interface EntryFacts {
  readonly event_id?: string | undefined
  /** RFC 3339 */
  readonly timestamp?: string | undefined
}

/**
 * Reads the body of one request into lines, each of them an event in the form of the API. An entry is JSON, or a line of a log in a format
 * that is known (`formats/`), or a message of CloudWatch that has one of them. Broken entries become lines that are rejected with their
 * reason, and requests that are no page views lines that are only counted.
 */
export class EntryReader {
  readonly #format: EntryFormat
  readonly #facts: RequestFacts
  readonly #isFirehose: boolean
  /** Undefined until the body has `ENVELOPE_BYTES`. */
  #values: Values | undefined
  #start: Buffer = Buffer.alloc(0)
  /** Reads lines that are not JSON. */
  #logReader: LineReader | undefined
  /** Entries so far. */
  #entries = 0
  #unknown = 0
  #decodedBytes = 0

  constructor(format: EntryFormat, facts: RequestFacts) {
    this.#format = format
    this.#facts = facts
    this.#isFirehose = facts.firehoseRequestId !== ''
    if (this.#isFirehose) this.#values = { values: new JsonValues('records', RECORD_MAX_BYTES), areMessages: false }
  }

  /**
   * The lines of the entries that end in these bytes, in parts that take about a millisecond: a record may decode to 1,000 times its size,
   * so the next ones are decoded when the part before them is used.
   * @throws HttpError 400, 413 or 429
   */
  *push(bytes: Buffer): Generator<string[]> {
    if (this.#values !== undefined) {
      yield* this.#partsOf(this.#values.values.push(bytes))
      return
    }
    this.#start = Buffer.concat([this.#start, bytes])
    if (this.#start.length >= ENVELOPE_BYTES) yield* this.#begin()
  }

  *#begin(): Generator<string[]> {
    this.#values = valuesFor(this.#start)
    yield* this.#partsOf(this.#values.values.push(this.#start))
  }

  /** The last lines. @throws HttpError 400 when the body is cut off, or nothing of it is known */
  *end(): Generator<string[]> {
    if (this.#values === undefined) yield* this.#begin()
    yield* this.#partsOf(this.#values!.values.end())
    if (this.#logReader?.isBetween === false) yield [rejectedLine(CUT_OFF)]
    if (this.#entries > 0 && this.#unknown === this.#entries) {
      throw new HttpError(
        'malformed_json',
        'nothing in the body is JSON: it must be one event per line, a JSON array, one object, or lines of an access log',
      )
    }
  }

  *#partsOf(values: Iterable<BodyValue>): Generator<string[]> {
    let lines: string[] = []
    let work = 0
    let heldBytes = 0
    for (const value of values) {
      const decoded = this.#isFirehose ? this.#decoded(value) : undefined
      const bytes = decoded?.length ?? 0
      this.#facts.hold(bytes)
      heldBytes += bytes
      const { entries, areMessages } = decoded === undefined ? this.#entryOf(value) : entriesOf(decoded)
      for (const entry of entries) {
        const line = areMessages ? this.#messageLine(entry) : this.#lineOf(entry)
        if (line !== undefined) lines.push(line)
        work += ENTRY_BYTES + (entry === TOO_LONG_VALUE ? 0 : entry.length)
        if (work < PART_BYTES) continue
        yield lines
        lines = []
        work = 0
      }
      if (heldBytes < HELD_BYTES) continue
      if (lines.length > 0) yield lines
      this.#facts.hold(-heldBytes)
      lines = []
      work = 0
      heldBytes = 0
    }
    if (lines.length > 0) yield lines
    this.#facts.hold(-heldBytes)
  }

  #entryOf(value: BodyValue): Entries {
    return { entries: [value], areMessages: this.#values!.areMessages }
  }

  /** A record of Amazon Data Firehose, `{"data": BASE64}`, which may be gzip. Undefined when it is none. */
  #decoded(value: BodyValue): Buffer | undefined {
    const record = value === TOO_LONG_VALUE ? undefined : objectIn(value.toString('utf8'))
    const data = textOf(record?.data)
    if (data === undefined) return undefined
    const decoded = gunzipped(Buffer.from(data, 'base64'))
    this.#decodedBytes += decoded.length
    if (this.#decodedBytes > BATCH_LIMITS.bodyMaxBytes) {
      throw new HttpError('body_too_large', `the records have more than ${BATCH_LIMITS.bodyMaxBytes} bytes`)
    }
    return decoded
  }

  /** The line of a log event of CloudWatch: `{"id": TEXT, "timestamp": MILLISECONDS, "message": TEXT}`. */
  #messageLine(value: BodyValue): string | undefined {
    const event = value === TOO_LONG_VALUE ? undefined : objectIn(value.toString('utf8'))
    const message = textOf(event?.message)
    if (message === undefined) return this.#lineOf(value)
    if (message.startsWith(CONTROL_MESSAGE)) return undefined
    const ms = instantOf(event!.timestamp)
    const timestamp = ms === undefined ? undefined : new Date(ms).toISOString()
    return this.#lineOf(Buffer.from(message), { event_id: textOf(event!.id), timestamp })
  }

  /** Undefined when the value is no event, and is not counted. */
  #lineOf(value: BodyValue, facts?: EntryFacts): string | undefined {
    this.#entries++
    if (value === TOO_LONG_VALUE) return rejectedLine(`is longer than ${BATCH_LIMITS.lineMaxBytes} bytes`)
    if (!isUtf8(value)) return rejectedLine('is not UTF-8')
    const text = value.toString('utf8')
    if (isTooDeep(text, JSON_DEPTH_MAX - LEVELS_ADDED)) return rejectedLine(TOO_DEEP)
    if (hasTooManyValues(text, EVENT_VALUES_MAX)) return rejectedLine(`has more than ${EVENT_VALUES_MAX} values`)
    const entry = objectIn(text)
    if (entry === undefined) return this.#logLine(text, facts)
    // Cloudflare sends this to see whether the address takes uploads.
    if (text.length < 2 * TEST_UPLOAD.length && JSON.stringify(entry) === TEST_UPLOAD) return undefined
    const { preset, read, mayBePage, all } = this.#format
    if (preset?.isEvent?.(entry) === false) return undefined
    const kept = preset?.dropped === undefined ? entry : without(entry, ...preset.dropped)
    const known = preset?.decode?.(kept) ?? kept
    const event = read(known)
    const inside = event.ip === undefined && isContainerLine(entry) ? this.#readLog(text, facts) : undefined
    if (inside !== undefined) return lineOfResult(inside)
    return all || mayBePage(known, event) ? this.#eventLine(event, facts) : NO_PAGE_LINE
  }

  /** Undefined for a comment. */
  #logLine(text: string, facts: EntryFacts | undefined): string | undefined {
    const line = text.trim()
    const isShort = line.length <= LOG_LINE_MAX_CHARS
    const result = isShort ? this.#readLog(line, facts) : undefined
    if (result === undefined) {
      // A refused request would be repeated by Firehose, so an unreadable message is counted as rejected.
      if (facts !== undefined) return rejectedLine(NO_LOG_LINE)
      this.#unknown++
      // It is rejected by the reader of lines, which says where it is broken as JSON.
      return text.replace(/[\r\n]+/g, ' ')
    }
    return lineOfResult(result)
  }

  /** Undefined when the line has no known format. The reader stays for the next lines, because it knows their header. */
  #readLog(line: string, facts: EntryFacts | undefined): LineJson | undefined {
    const jsonOf = (event: ToolEvent) => this.#eventLine(event, facts)
    const result = this.#logReader && readLine(this.#logReader, line, jsonOf)
    if (result !== undefined && !('rejected' in result)) return result
    const format = formatOfLines([line])
    if (format === undefined) {
      if (line.startsWith('#')) return COMMENT
      return this.#logReader?.header === undefined ? undefined : result
    }
    this.#logReader = format.reader({ all: this.#format.all, nowMs: Date.now(), trusted: this.#format.trusted })
    return readLine(this.#logReader, line, jsonOf)
  }

  #eventLine(event: ToolEvent, facts: EntryFacts | undefined): string {
    const { preset } = this.#format
    const { firehoseRequestId } = this.#facts
    const id = firehoseRequestId === '' ? undefined : `${firehoseRequestId}:${this.#entries}`
    const completed: ToolEvent = {
      ...event,
      event_id: event.event_id ?? facts?.event_id ?? id,
      timestamp: event.timestamp ?? facts?.timestamp,
      event_type: event.event_type ?? preset?.eventType,
    }
    return stringifyExactly(eventOf(completed, this.#facts.addressOf(event)))
  }
}

/** Whether an object may be a line of a container's output, as Docker writes it and Fluent Bit passes it on. */
function isContainerLine({ log, stream }: JsonObject): boolean {
  return typeof log === 'string' && typeof stream === 'string'
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = parseExactly(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

interface Values {
  readonly values: JsonValues
  /** Whether each value is a log event of CloudWatch. */
  readonly areMessages: boolean
}

/** @param start of a document */
function valuesFor(start: Buffer): Values {
  const areMessages = CLOUDWATCH.test(start.toString('latin1', 0, ENVELOPE_BYTES))
  return { values: areMessages ? new JsonValues('logEvents') : new JsonValues(), areMessages }
}

interface Entries {
  readonly entries: Iterable<BodyValue>
  readonly areMessages: boolean
}

/** The entries in a record. */
function entriesOf(decoded: Buffer): Entries {
  const { values, areMessages } = valuesFor(decoded)
  return { entries: valuesIn(decoded, values), areMessages }
}

function* valuesIn(decoded: Buffer, values: JsonValues): Generator<BodyValue> {
  try {
    for (let at = 0; at < decoded.length; at += PART_BYTES) yield* values.push(decoded.subarray(at, at + PART_BYTES))
    yield* values.end()
  } catch {
    // One broken record must not refuse the others.
    yield Buffer.from('[')
  }
}

function gunzipped(data: Buffer): Buffer {
  if (data.length < 3 || data.readUInt16BE(0) !== GZIP_MAGIC) return data
  try {
    return gunzipSync(data, { maxOutputLength: RECORD_MAX_DECODED_BYTES })
  } catch {
    return data
  }
}
