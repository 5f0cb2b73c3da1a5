import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { BATCH_LIMITS } from '../../schemas/api/batch.ts'
import type { EventEnvelope } from '../../schemas/api/event.ts'
import { OUTCOME_STATUS } from '../../schemas/outcome.ts'
import { type Address, parseAddress } from '../core/event/address.ts'
import { type Block, packBlock } from '../core/event/block.ts'
import { type Envelope, EnvelopeState, identityOf, NO_IDENTITY, partitionOf } from '../core/event/envelope.ts'
import { countOutcome, type OutcomeCounts, outcomeKey, utcDay } from '../core/event/outcomes.ts'
import { type PayloadStatus, rejectedRow } from '../core/event/payload.ts'
import type { ReadEvent } from '../core/event/read-event.ts'
import { tsv } from '../core/event/row.ts'
import { stateOf } from '../core/event/verdict.ts'
import type { ChunkContext, ChunkReading, LineChunk } from '../core/pipeline/source.ts'
import { payloadOf } from '../ingest/payload.ts'
import { completeRow, rawRow } from '../ingest/raw-row.ts'
import { scanEventLine } from '../ingest/scan-events.ts'
import { sliceEvent } from '../ingest/slice-event.ts'
import { TOO_LONG } from './line-chunker.ts'
import { reasonOfRejected } from './rejected-line.ts'

/** White space of JSON: there is a blank line behind the last line feed, and in chunks of earlier versions. */
const BLANK = /^[ \t\r]*$/
const TOO_LONG_TEXT = TOO_LONG.toString('utf8').trimEnd()

/**
 * Reads the lines of a chunk into raw envelopes. A bad line is counted and named; it stops nothing. Not with the `ndjson`
 * package, though it is hardly slower (bench/ndjson.ts): it gives values without their text, and properties are kept to
 * the letter.
 */
export function readChunk(chunk: LineChunk, context: ChunkContext): ChunkReading {
  const events = new Map<number, Envelope[]>()
  const payloads = new Map<number, Envelope[]>()
  const errors: { line: number; detail: string }[] = []
  const faults = new Map<string, number>()
  let fed = 0
  let rejected = 0
  let invalidIp = 0
  for (const [line, raw] of numberedLines(chunk)) {
    if (raw !== undefined && BLANK.test(raw)) continue
    const text = raw === undefined ? undefined : bareLine(raw, line)
    const event = readEvent(text, context)
    if ('fault' in event) {
      rejected++
      countOutcome(faults, event.fault)
      if (errors.length < BATCH_LIMITS.errorsMax) errors.push({ line, detail: event.detail })
      continue
    }
    const address = parseAddress(event.ip)
    const eventId = event.eventId ?? generatedId(context.jobId, line)
    const identity = event.eventId === undefined ? NO_IDENTITY : identityOf(context.tenantId, eventId)
    const partition = identity === NO_IDENTITY ? line % context.partitions : partitionOf(identity, context.partitions)
    if (context.archived) {
      const received = { text: text!, identity, eventId, status: statusOf(address, context), idMade: false }
      push(payloads, partition, payloadOf(received, context))
    }
    if (address === undefined) {
      invalidIp++
      continue
    }
    fed++
    const row = rawRow(event, eventId, address, context)
    push(events, partition, { identity, ...stateAndRow(row, event, address, context) })
  }
  if (context.archived) {
    for (const row of rejectedRows(faults, context)) {
      push(payloads, chunk.firstLine % context.partitions, { identity: NO_IDENTITY, state: EnvelopeState.Raw, row })
    }
  }
  return {
    blocks: packBlocks(events, context),
    payloads: packBlocks(payloads, context),
    outcomes: outcomesOf(context, faults, invalidIp),
    counts: { fed, rejected, invalidIp, errors },
  }
}

/**
 * A raw row, which the enrich stage completes. A row without its address cannot be enriched any more, and the stage knows no
 * tenants' rules: those rows are completed here, noise too, which the stage for it drops and counts.
 */
function stateAndRow(
  raw: string,
  event: ReadEvent,
  address: Address,
  context: ChunkContext,
): Pick<Envelope, 'state' | 'row'> {
  if (context.mask === undefined && !context.isJudged) return { state: EnvelopeState.Raw, row: raw }
  const enrichment = context.enricher.enrich(address)
  return { state: stateOf(enrichment), row: `${completeRow(raw, event, enrichment, context)}\t${tsv(context.jobId)}` }
}

function push(byPartition: Map<number, Envelope[]>, partition: number, envelope: Envelope): void {
  const envelopes = byPartition.get(partition)
  if (envelopes === undefined) byPartition.set(partition, [envelope])
  else envelopes.push(envelope)
}

function packBlocks(byPartition: ReadonlyMap<number, readonly Envelope[]>, { jobId }: ChunkContext) {
  const blocks = new Map<number, Block>()
  for (const [partition, envelopes] of byPartition) blocks.set(partition, packBlock(envelopes, jobId))
  return blocks
}

function statusOf(address: Address | undefined, { enricher }: ChunkContext): PayloadStatus {
  if (address === undefined) return 'invalid_ip'
  return enricher.enrich(address).noise ? 'filtered' : 'ok'
}

function rejectedRows(faults: ReadonlyMap<string, number>, { tenantId, receivedAtMs }: ChunkContext): string[] {
  const receivedAt = new Date(receivedAtMs).toISOString()
  return [...faults].map(([reason, lines]) => rejectedRow(tenantId, receivedAt, reason, lines))
}

/** @param faults rejected lines by what is wrong with them */
function outcomesOf(context: ChunkContext, faults: ReadonlyMap<string, number>, invalidIp: number): OutcomeCounts {
  const { tenantId, receivedAtMs, jobId: job } = context
  const of = { tenantId, day: utcDay(receivedAtMs), job }
  const counts = new Map<string, number>()
  for (const [reason, lines] of faults) {
    countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.rejected, reason }), lines)
  }
  if (invalidIp > 0) countOutcome(counts, outcomeKey({ ...of, status: OUTCOME_STATUS.invalidIp }), invalidIp)
  return counts
}

/** The lines with their positions in the upload. */
function* numberedLines({ firstLine, gaps, bytes }: LineChunk): Generator<[line: number, text: string | undefined]> {
  let line = firstLine
  let passed = 0
  let untilGap = gaps[0]?.after
  for (const text of linesOf(bytes)) {
    if (untilGap === 0) {
      line += gaps[passed]!.blank
      untilGap = gaps[++passed]?.after
    }
    yield [line++, text]
    if (untilGap !== undefined) untilGap--
  }
}

/** The lines as text, without line ends; undefined for one that is not UTF-8. */
export function linesOf(bytes: Buffer): (string | undefined)[] {
  if (isUtf8(bytes)) return bytes.toString('utf8').split('\n')
  const lines: (string | undefined)[] = []
  for (let at = 0; at <= bytes.length; ) {
    const end = bytes.indexOf(10, at)
    const line = bytes.subarray(at, end < 0 ? bytes.length : end)
    lines.push(isUtf8(line) ? line.toString('utf8') : undefined)
    if (end < 0) break
    at = end + 1
  }
  return lines
}

/** Without the carriage return of other systems, and without the byte order mark that some put before the first line. */
function bareLine(raw: string, line: number): string {
  const text = raw.endsWith('\r') ? raw.slice(0, -1) : raw
  return line === 1 && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** Begins the detail of a line that is no JSON; what follows quotes the line. */
export const NOT_JSON = 'is not JSON'

/** What is wrong with a line: for the tables in a word or two, for people in a sentence. */
export interface LineFault {
  readonly fault: 'not UTF-8' | 'too long' | 'unreadable' | 'not JSON' | 'schema'
  readonly detail: string
}

/** @param text undefined: it is not UTF-8 */
function readEvent(text: string | undefined, context: ChunkContext): ReadEvent | LineFault {
  const scanned = text === undefined ? undefined : scanEventLine(text)
  if (scanned !== undefined) return scanned
  const event = readLine(text, context)
  return 'fault' in event ? event : sliceEvent(text!, 0, event)
}

/** @param text undefined: it is not UTF-8 */
export function readLine(
  text: string | undefined,
  { check, mask }: Pick<ChunkContext, 'check' | 'mask'>,
): EventEnvelope | LineFault {
  if (text === undefined) return { fault: 'not UTF-8', detail: 'is not UTF-8' }
  if (text === TOO_LONG_TEXT) {
    return { fault: 'too long', detail: `is longer than ${BATCH_LIMITS.lineMaxBytes} bytes` }
  }
  const reason = reasonOfRejected(text)
  if (reason !== undefined) return { fault: 'unreadable', detail: reason }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    // It may quote the line, and that an address that is not to be kept.
    return { fault: 'not JSON', detail: `${NOT_JSON}: ${mask === undefined ? message : message.replace(QUOTE, '')}` }
  }
  const [error] = check(value)
  if (error === undefined) return value as EventEnvelope
  return { fault: 'schema', detail: error.path === '' ? error.message : `${error.path} ${error.message}` }
}

/** In a message of V8: `Unexpected token 'b', "broken" is not valid JSON`. */
const QUOTE = /, (?:\.{3})?".*$/s

/** A UUID (RFC 9562, version 8) that depends only on the job and the line. */
function generatedId(jobId: string, line: number): string {
  const hex = hash('sha256', `${jobId}:${line}`, 'hex')
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
