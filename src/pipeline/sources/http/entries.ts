import { isUtf8 } from 'node:buffer'
import { gunzipSync } from 'node:zlib'
import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { EVENT_VALUES_MAX, JSON_DEPTH_MAX } from '../../../../schemas/api/event.ts'
import type { SourceFacts } from '../../../../schemas/api-key.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { Proxies } from '../../event/client-address.ts'
import { hasTooManyValues, isTooDeep, TOO_DEEP } from '../../event/json-depth.ts'
import { rejectedLine } from '../batch/read-chunk.ts'
import { MAPPED_FIELDS, mappedReader, type Paths, type ReadMapped } from '../mapping.ts'
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
const TEST_UPLOAD = '{"content":"tests"}'

/** How the entries of a source become events. Shared by its requests. */
export interface EntryFormat {
  readonly preset: Preset | undefined
  readonly read: ReadMapped
}

/** @param facts of the source @param trusted see `ReadLineOptions` */
export function entryFormat(
  { preset: name, map = {} }: Pick<SourceFacts, 'preset' | 'map'>,
  trusted?: Proxies,
): EntryFormat {
  const preset = presetNamed(name)
  const paths = MAPPED_FIELDS.map((field) => {
    const own = Object.hasOwn(map, field) ? [map[field]!] : []
    return [field, [...own, ...[preset?.paths[field] ?? []].flat()]]
  })
  const { perhapsIp } = preset ?? {}
  return { preset, read: mappedReader(Object.fromEntries(paths) as Paths, { trusted, perhapsIp }) }
}

interface RequestFacts {
  /** The address of an event's visitor; undefined: there is none. */
  readonly addressOf: (event: ToolEvent) => unknown
  /** `''`, or Amazon Data Firehose's name of the request, the same in each of its attempts. */
  readonly firehoseRequestId: string
  /** Counts memory that the reader keeps. @param bytes negative when it needs less again @throws HttpError 429 */
  hold(bytes: number): void
}

/**
 * Reads the body of one request into lines, each of them an event in the form of the API. Broken entries become lines that are
 * rejected with their reason.
 */
export class EntryReader {
  readonly #format: EntryFormat
  readonly #facts: RequestFacts
  readonly #isFirehose: boolean
  readonly #values: JsonValues
  /** Entries so far. */
  #entries = 0
  #notJson = 0
  #decodedBytes = 0

  constructor(format: EntryFormat, facts: RequestFacts) {
    this.#format = format
    this.#facts = facts
    this.#isFirehose = facts.firehoseRequestId !== ''
    this.#values = this.#isFirehose ? new JsonValues('records', RECORD_MAX_BYTES) : new JsonValues()
  }

  /**
   * The lines of the entries that end in these bytes, in parts that take about a millisecond: a record may decode to 1,000 times its size,
   * so the next ones are decoded when the part before them is used.
   * @throws HttpError 400, 413 or 429
   */
  *push(bytes: Buffer): Generator<string[]> {
    yield* this.#partsOf(this.#values.push(bytes))
  }

  /** The last lines. @throws HttpError 400 when the body is cut off, or nothing of it is JSON */
  *end(): Generator<string[]> {
    yield* this.#partsOf(this.#values.end())
    if (this.#entries > 0 && this.#notJson === this.#entries) {
      throw new HttpError(
        400,
        'nothing in the body is JSON: it must be one event per line, a JSON array, or one object',
      )
    }
  }

  *#partsOf(values: readonly BodyValue[]): Generator<string[]> {
    let lines: string[] = []
    let work = 0
    let heldBytes = 0
    for (const value of values) {
      const decoded = this.#isFirehose ? this.#decoded(value) : undefined
      const bytes = decoded?.length ?? 0
      this.#facts.hold(bytes)
      heldBytes += bytes
      const entries: Iterable<BodyValue> = decoded === undefined ? [value] : valuesOf(decoded)
      for (const entry of entries) {
        const line = this.#lineOf(entry)
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

  /** A record of Amazon Data Firehose, `{"data": BASE64}`, which may be gzip. Undefined when it is none. */
  #decoded(value: BodyValue): Buffer | undefined {
    const record = value === TOO_LONG_VALUE ? undefined : objectIn(value.toString('utf8'))
    const data = textOf(record?.data)
    if (data === undefined) return undefined
    const decoded = gunzipped(Buffer.from(data, 'base64'))
    this.#decodedBytes += decoded.length
    if (this.#decodedBytes > BATCH_LIMITS.bodyMaxBytes) {
      throw new HttpError(413, `the records have more than ${BATCH_LIMITS.bodyMaxBytes} bytes`)
    }
    return decoded
  }

  /** Undefined when the value is no event, and is not counted. */
  #lineOf(value: BodyValue): string | undefined {
    this.#entries++
    if (value === TOO_LONG_VALUE) return rejectedLine(`is longer than ${BATCH_LIMITS.lineMaxBytes} bytes`)
    if (!isUtf8(value)) return rejectedLine('is not UTF-8')
    const text = value.toString('utf8')
    if (isTooDeep(text, JSON_DEPTH_MAX - LEVELS_ADDED)) return rejectedLine(TOO_DEEP)
    if (hasTooManyValues(text, EVENT_VALUES_MAX)) return rejectedLine(`has more than ${EVENT_VALUES_MAX} values`)
    const entry = objectIn(text)
    if (entry === undefined) {
      this.#notJson++
      // It is rejected by the reader of lines, which says where it is broken.
      return text.replace(/[\r\n]+/g, ' ')
    }
    // Cloudflare sends this to see whether the address takes uploads.
    if (text.length < 2 * TEST_UPLOAD.length && JSON.stringify(entry) === TEST_UPLOAD) return undefined
    return this.#eventLine(entry)
  }

  #eventLine(entry: JsonObject): string | undefined {
    const { preset, read } = this.#format
    if (preset?.isEvent?.(entry) === false) return undefined
    const event = read(preset?.dropped === undefined ? entry : without(entry, ...preset.dropped))
    const { firehoseRequestId } = this.#facts
    const id = firehoseRequestId === '' ? undefined : `${firehoseRequestId}:${this.#entries}`
    const completed: ToolEvent = {
      ...event,
      event_id: event.event_id ?? id,
      event_type: event.event_type ?? preset?.eventType,
    }
    return stringifyExactly(eventOf(completed, this.#facts.addressOf(event)))
  }
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = parseExactly(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** The entries in a record. */
function* valuesOf(decoded: Buffer): Generator<BodyValue> {
  const values = new JsonValues()
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
