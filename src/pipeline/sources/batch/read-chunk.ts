import { isUtf8 } from 'node:buffer'
import { BATCH_LIMITS, type RejectedCode } from '../../../../schemas/api/batch.ts'
import type { EventEnvelope } from '../../../../schemas/api/event.ts'
import { OUTCOME_STATUS } from '../../../../schemas/outcome.ts'
import { claimOf, judge } from '../../../enrichment/judge.ts'
import { cutText } from '../../../run/cut-text.ts'
import { derivedUuid } from '../../../run/derived-uuid.ts'
import { describeJsonError } from '../../../run/json-error.ts'
import { type CodeUnits, codesOf } from '../../../run/json-scan.ts'
import type { ChunkContext, ChunkCounts, ChunkReading, LineChunk, SlicedReading } from '../../declaration/source.ts'
import { parseAddress } from '../../event/address.ts'
import { type Block, BlockPacker } from '../../event/block.ts'
import { EnvelopeState, identityOf, NO_IDENTITY, partitionOf, stateOf, statusOf } from '../../event/envelope.ts'
import { isTooDeep, TOO_DEEP } from '../../event/json-depth.ts'
import { judgedRow, rawRow } from '../../event/make-row.ts'
import { countOutcome, type OutcomeCounts, outcomeKey, utcDay } from '../../event/outcomes.ts'
import { countedRow } from '../../event/payload.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { isRequest, type LineJson } from '../formats/line-format.ts'
import { payloadOf } from '../live/payload.ts'
import { scanEventLine } from '../live/scan-events.ts'
import { sliceEvent } from '../live/slice-event.ts'
import { LINE_FEED, TOO_LONG } from './line-chunker.ts'
import { RejectedGroups } from './rejected-groups.ts'
import { NOT_JSON, RejectedLines } from './rejected-lines.ts'

/** White space of JSON. Chunks of earlier versions contain blank lines. */
const BLANK = /^[ \t\r]*$/
const CARRIAGE_RETURN = 13
const TOO_LONG_TEXT = TOO_LONG.toString('utf8').trimEnd()

/** Size of a slice, which ends with a line: half a millisecond of work. Its text and codes fit into the CPU's caches. */
const SLICE_BYTES = 16_384

/**
 * Reads the lines of a chunk into raw envelopes. A bad line is counted and named, and stops no other line. The `ndjson` package
 * does not fit: it returns values without their text, and properties must be stored exactly as sent.
 */
export function* readChunk(chunk: LineChunk, context: ChunkContext): SlicedReading {
  const reader = new ChunkReader(chunk, context)
  const { bytes } = chunk
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(LINE_FEED, start + SLICE_BYTES)
    const end = feed < 0 ? bytes.length : feed + 1
    readSlice(bytes.subarray(start, bytes[end - 1] === LINE_FEED ? end - 1 : end), reader)
    start = end
    if (start < bytes.length) yield
  }
  return reader.reading()
}

/** @param bytes lines, without the last line feed */
function readSlice(bytes: Buffer, reader: ChunkReader): void {
  if (!isUtf8(bytes)) {
    for (const line of linesOf(bytes)) reader.add(line)
    return
  }
  const text = bytes.toString('utf8')
  const codes = codesOf(text)
  for (let start = 0; start <= text.length; ) {
    const feed = text.indexOf('\n', start)
    const end = feed < 0 ? text.length : feed
    reader.add(text, codes, start, end)
    start = end + 1
  }
}

/** Takes the lines of a chunk in order. */
class ChunkReader {
  readonly #chunk: LineChunk
  readonly #context: ChunkContext
  /** Whether rows stay raw for the enrich stage. */
  readonly #isRaw: boolean
  readonly #events = new Map<number, BlockPacker>()
  readonly #payloads = new Map<number, BlockPacker>()
  readonly #errors: { line: number; detail: string }[] = []
  readonly #faults = new Map<string, number>()
  readonly #reasons = new RejectedGroups()
  readonly #lines: RejectedLines
  #fed = 0
  #rejected = 0
  #invalidIp = 0
  #noIp = 0
  #noPage = 0
  /** Number of the next line in the upload. */
  #line: number
  #gapsPassed = 0
  #linesUntilGap: number

  constructor(chunk: LineChunk, context: ChunkContext) {
    this.#chunk = chunk
    this.#context = context
    this.#isRaw = context.mask === undefined && !context.isJudged
    this.#lines = new RejectedLines(context.mask === undefined)
    this.#line = chunk.firstLine
    this.#linesUntilGap = chunk.gaps[0]?.after ?? Number.POSITIVE_INFINITY
  }

  /**
   * @param text contains the line from `start` to `end`; bytes: the line is not UTF-8
   * @param codes of the text
   */
  add(text: string | Buffer, codes?: CodeUnits, start = 0, end = text.length): void {
    const line = this.#nextLine()
    const event = typeof text === 'string' ? scanEventLine(text, codes, start, end) : undefined
    if (typeof text !== 'string') this.#readSlowly(line, text)
    else if (event === undefined) this.#readSlowly(line, text.slice(start, end))
    else this.#take(line, event, text, start, end)
  }

  #nextLine(): number {
    if (this.#linesUntilGap === 0) {
      const { gaps } = this.#chunk
      this.#line += gaps[this.#gapsPassed]!.blank
      this.#linesUntilGap = gaps[++this.#gapsPassed]?.after ?? Number.POSITIVE_INFINITY
    }
    this.#linesUntilGap--
    return this.#line++
  }

  #readSlowly(line: number, raw: string | Buffer): void {
    if (typeof raw === 'string' && BLANK.test(raw)) return
    const text = typeof raw === 'string' ? bareLine(raw, line) : undefined
    const event = readEvent(text, this.#context)
    if (!('fault' in event)) {
      this.#take(line, event, raw as string, 0, raw.length)
      return
    }
    if (event.fault === 'no page') {
      this.#noPage++
      return
    }
    this.#rejected++
    if (event.fault === 'no address') this.#noIp++
    else countOutcome(this.#faults, event.fault)
    // The full detail quotes the line, so the reason must not include it.
    this.#reasons.add(event.fault === 'not JSON' ? NOT_JSON : event.detail, line)
    if (this.#errors.length < BATCH_LIMITS.errorsMax) this.#errors.push({ line, detail: event.detail })
    this.#lines.add(
      line,
      CODES[event.fault],
      event.detail,
      NO_LINE.has(event.fault) ? undefined : (text ?? withoutReturn(raw as Buffer)),
    )
  }

  /** @param text contains the line from `start` to `end` */
  #take(line: number, event: ReadEvent, text: string, start: number, end: number): void {
    const context = this.#context
    const { tenantId, partitions } = context
    const address = parseAddress(event.ip)
    const eventId = event.eventId ?? derivedUuid(`${context.job}:${line}`)
    const identity = event.eventId === undefined ? NO_IDENTITY : identityOf(tenantId, eventId)
    // The stage judges by the row alone, which must hold the address, and names no bot.
    const isRaw = this.#isRaw && claimOf(event) === undefined
    const enrichment = isRaw && !context.archived ? undefined : judge(event, address, context.enricher)
    const partition = identity === NO_IDENTITY ? line % partitions : partitionOf(identity, partitions)
    if (context.archived) {
      const received = {
        text: bareLine(text.slice(start, end), line),
        identity,
        eventId,
        status: statusOf(enrichment),
        isIdGenerated: false,
      }
      packerOf(this.#payloads, partition).add(identity, EnvelopeState.Raw, payloadOf(received, context).row)
    }
    if (address === undefined) {
      this.#invalidIp++
      this.#lines.add(line, 'invalid_ip', NO_ADDRESS, bareLine(text.slice(start, end), line))
      return
    }
    this.#fed++
    const events = packerOf(this.#events, partition)
    if (isRaw) events.add(identity, EnvelopeState.Raw, rawRow(event, eventId, address, context))
    else events.add(identity, stateOf(enrichment!), judgedRow(event, eventId, address, enrichment!, context))
  }

  #counts(): ChunkCounts {
    const { list: reasons } = this.#reasons
    return {
      ...{ fed: this.#fed, rejected: this.#rejected, invalidIp: this.#invalidIp, noPage: this.#noPage },
      ...{ errors: this.#errors, reasons, lines: this.#lines.end() },
    }
  }

  reading(): ChunkReading {
    const context = this.#context
    if (context.archived) {
      const partition = this.#chunk.firstLine % context.partitions
      for (const row of countedRows(this.#faults, { noIp: this.#noIp, noPage: this.#noPage }, context)) {
        packerOf(this.#payloads, partition).add(NO_IDENTITY, EnvelopeState.Raw, row)
      }
    }
    return {
      blocks: packBlocks(this.#events, context),
      payloads: packBlocks(this.#payloads, context),
      outcomes: outcomesOf(context, this.#faults, {
        noIp: this.#noIp,
        noPage: this.#noPage,
        invalidIp: this.#invalidIp,
      }),
      counts: this.#counts(),
    }
  }
}

function packerOf(byPartition: Map<number, BlockPacker>, partition: number): BlockPacker {
  let packer = byPartition.get(partition)
  if (packer === undefined) {
    packer = new BlockPacker()
    byPartition.set(partition, packer)
  }
  return packer
}

function packBlocks(byPartition: ReadonlyMap<number, BlockPacker>, { job, sourceId }: ChunkContext) {
  const blocks = new Map<number, Block>()
  for (const [partition, packer] of byPartition) blocks.set(partition, packer.pack(job, undefined, sourceId))
  return blocks
}

function countedRows(
  faults: ReadonlyMap<string, number>,
  { noIp, noPage }: { readonly noIp: number; readonly noPage: number },
  { tenantId, receivedAtMs, sourceId }: ChunkContext,
): string[] {
  const receivedAt = new Date(receivedAtMs).toISOString()
  const counted = [...faults].map(([reason, events]) => ({ status: OUTCOME_STATUS.rejected as string, reason, events }))
  if (noIp > 0) counted.push({ status: OUTCOME_STATUS.noIp, reason: '', events: noIp })
  if (noPage > 0) counted.push({ status: OUTCOME_STATUS.noPage, reason: '', events: noPage })
  return counted.map((each) => countedRow(tenantId, receivedAt, { ...each, sourceId }))
}

/** @param faults number of rejected lines by fault */
function outcomesOf(
  context: ChunkContext,
  faults: ReadonlyMap<string, number>,
  { noIp, noPage, invalidIp }: { readonly noIp: number; readonly noPage: number; readonly invalidIp: number },
): OutcomeCounts {
  const { tenantId, receivedAtMs, job, sourceId } = context
  const of = { tenantId, day: utcDay(receivedAtMs), job, sourceId }
  const counts = new Map<string, number>()
  for (const [reason, lines] of faults) {
    countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.rejected, reason }), lines)
  }
  if (noIp > 0) countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.noIp }), noIp)
  if (noPage > 0) countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.noPage }), noPage)
  if (invalidIp > 0) countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.invalidIp }), invalidIp)
  return counts
}

/** The lines as text, without line ends. A line that is not UTF-8 is its bytes. */
export function linesOf(bytes: Buffer): (string | Buffer)[] {
  if (isUtf8(bytes)) return bytes.toString('utf8').split('\n')
  const lines: (string | Buffer)[] = []
  for (let at = 0; at <= bytes.length; ) {
    const end = bytes.indexOf(LINE_FEED, at)
    const line = bytes.subarray(at, end < 0 ? bytes.length : end)
    lines.push(isUtf8(line) ? line.toString('utf8') : line)
    if (end < 0) break
    at = end + 1
  }
  return lines
}

/** Removes a carriage return at the end, and a byte order mark before the first line. */
function bareLine(raw: string, line: number): string {
  const text = raw.endsWith('\r') ? raw.slice(0, -1) : raw
  return line === 1 && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** Removes a carriage return at the end of bytes that are not UTF-8. */
function withoutReturn(bytes: Buffer): Buffer {
  return bytes.at(-1) === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes
}

/** The fault of a line: `fault` for the tables, `detail` for people. */
interface LineFault {
  readonly fault:
    | 'not UTF-8'
    | 'too long'
    | 'too deep'
    | 'unreadable'
    | 'not JSON'
    | 'schema'
    | 'no address'
    | 'no page'
  readonly detail: string
}

type Fault = LineFault['fault']

/** For callers. A request that is no page view is not rejected. */
const CODES: Readonly<Record<Fault, RejectedCode>> = {
  'not UTF-8': 'not_utf8',
  'too long': 'too_long',
  'too deep': 'too_deep',
  unreadable: 'unreadable',
  'not JSON': 'not_json',
  schema: 'schema',
  'no address': 'no_address',
  'no page': 'unreadable',
}

/** Faults of which the line itself is not here. */
const NO_LINE: ReadonlySet<Fault> = new Set<Fault>(['too long', 'unreadable'])

/** Detail of a line whose `ip` is no address. Quotes nothing. */
const NO_ADDRESS = 'ip is not an IPv4 or IPv6 address'

/** @param text undefined: the line is not UTF-8 */
function readEvent(text: string | undefined, context: ChunkContext): ReadEvent | LineFault {
  const event = readLine(text, context)
  return 'fault' in event ? event : sliceEvent(text!, 0, event)
}

/** @param text undefined: the line is not UTF-8 */
export function readLine(
  text: string | undefined,
  { check, sourceId }: Pick<ChunkContext, 'check' | 'sourceId'>,
): EventEnvelope | LineFault {
  if (text === undefined) return { fault: 'not UTF-8', detail: 'is not UTF-8' }
  if (text === TOO_LONG_TEXT) {
    return { fault: 'too long', detail: `is longer than ${BATCH_LIMITS.lineMaxBytes} bytes` }
  }
  if (text === NO_PAGE_LINE) return { fault: 'no page', detail: 'is no page view' }
  const reason = reasonOfRejected(text)
  if (reason !== undefined) return { fault: 'unreadable', detail: reason }
  if (isTooDeep(text)) return { fault: 'too deep', detail: TOO_DEEP }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The detail quotes one character at most, so it never stores an address that must be masked.
    return { fault: 'not JSON', detail: `is ${describeJsonError(text)}` }
  }
  // Senders of a source that have no address are shown how to add one.
  if (sourceId !== undefined && isWithoutIp(value)) return { fault: 'no address', detail: 'has no address' }
  const [error] = check(value)
  if (error === undefined) return value as EventEnvelope
  return { fault: 'schema', detail: error.path === '' ? error.message : `${error.path} ${error.message}` }
}

function isWithoutIp(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, 'ip')
}

/** Prefix of a line from `rejectedLine`. No JSON starts with NUL. */
const ROW_MARK = '\0row '
const ROW_REASON_MAX_CHARS = 200

/**
 * Makes a line that replaces an unreadable row of a file. The job counts and names it like any other bad line.
 * @param reason must not quote the row
 */
export function rejectedLine(reason: string): string {
  return ROW_MARK + reason.replace(/\s+/g, ' ')
}

/** Replaces a request that is no page view. It is counted as filtered. Feeders that do not know it cannot read compressed chunks either. */
export const NO_PAGE_LINE = rejectedLine('is no page view')

/** The line for a line of a log. Undefined for one that is no request, such as a comment. */
export function lineOfResult(result: LineJson): string | undefined {
  if ('json' in result) return result.json
  if ('rejected' in result) return rejectedLine(result.rejected)
  return isRequest(result) ? NO_PAGE_LINE : undefined
}

/** The reason of a line from `rejectedLine`; undefined for any other line. */
function reasonOfRejected(line: string): string | undefined {
  if (!line.startsWith(ROW_MARK)) return undefined
  return cutText(line.slice(ROW_MARK.length), ROW_REASON_MAX_CHARS)
}
