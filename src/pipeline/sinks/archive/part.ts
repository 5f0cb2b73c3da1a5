import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EntryOfRows } from '../../declaration/destination.ts'
import {
  hasPayloadHead,
  type PayloadOrigin,
  payloadLineStart,
  payloadOrigin,
  readRejected,
} from '../../event/payload.ts'
import { type PartLocation, partName } from './layout.ts'

/**
 * An entry of the stream of payloads that a part has events of, the commit that brought them into Redis, and number of
 * lines. Entries stand in the order of their lines.
 */
export type IndexEntry = readonly [partition: number, id: string, commit: string, lines: number]

/** What is kept of a part beside its events, as JSON. */
export interface PartIndex {
  readonly lane: 'live' | 'batch'
  readonly lines: number
  /** Of the lines, before compression. */
  readonly bytes: number
  readonly entries: readonly IndexEntry[]
  /**
   * Of a part of live events: the requests that brought them, in the order of the lines, and how many lines in a row each has.
   * `''` for events that an earlier version received; undefined when that is so for all.
   */
  readonly requests?: readonly IndexRequest[]
  /** Of a part of a batch job: lines that are no event, and are not in the part. Undefined when there are none. */
  readonly rejected?: readonly IndexRejected[]
}

/** Lines that a commit brought and that are no event: an entry of the stream of payloads says so. */
export type IndexRejected = readonly [partition: number, id: string, commit: string, reason: string, lines: number]

/** `x-request-id`, and number of lines. */
export type IndexRequest = readonly [id: string, lines: number]

/** Events that become an object of their own. */
export interface Part {
  readonly location: PartLocation
  /** Each is ended by a line feed. */
  readonly lines: readonly Buffer[]
  readonly index: PartIndex
}

/** A part in the making. */
interface Draft extends Omit<PartLocation, 'name'> {
  readonly lines: Buffer[]
  readonly entries: [number, string, string, number][]
  readonly requests: [string, number][]
  readonly rejected: IndexRejected[]
  first: EntryOfRows
}

const LINE_FEED = 10
const NOWHERE = Buffer.alloc(0)
/** Lines behind which others get their turn: a process that archives may also enrich. */
const LINES_A_TURN = 2_000

/**
 * Puts the events of entries together by tenant, day, source and run. The same entries, in the same order, make the same
 * parts.
 */
export async function makeParts(entries: readonly EntryOfRows[]): Promise<Part[]> {
  const drafts = new Map<string, Draft>()
  let lines = 0
  for (const entry of entries) {
    addEntry(drafts, entry)
    lines += entry.block.count
    if (lines >= LINES_A_TURN) {
      lines = 0
      await nextTurn()
    }
  }
  return [...drafts.values()].map(finished)
}

function addEntry(drafts: Map<string, Draft>, entry: EntryOfRows): void {
  const { rows, count } = entry.block
  let draft: Draft | undefined
  let head: Buffer = NOWHERE
  let requestId = ''
  let start = 0
  for (let i = 0; i < count; i++) {
    // Mostly a row has the origin of the one before.
    if (draft === undefined || !hasPayloadHead(rows, start, head)) {
      head = rows.subarray(start, payloadLineStart(rows, start))
      const origin = payloadOrigin(head)
      requestId = origin.requestId
      draft = draftFor(drafts, entry, origin)
      if (isBefore(entry, draft.first)) draft.first = entry
    }
    const lineStart = start + head.length
    const end = rows.indexOf(LINE_FEED, lineStart) + 1
    if (head.length === 0 || end === 0) throw new Error(`entry ${entry.id} of payloads has a broken row`)
    const rejected = readRejected(rows.subarray(lineStart, end - 1))
    if (rejected === undefined) {
      draft.lines.push(rows.subarray(lineStart, end))
      countLine(draft, entry)
      countRequest(draft, requestId)
    } else {
      draft.rejected.push([entry.partition, entry.id, entry.block.commit ?? '', ...rejected])
    }
    start = end
  }
}

function countRequest({ requests }: Draft, requestId: string): void {
  const last = requests.at(-1)
  if (last?.[0] === requestId) last[1]++
  else requests.push([requestId, 1])
}

function countLine(draft: Draft, entry: EntryOfRows): void {
  const last = draft.entries.at(-1)
  if (last !== undefined && last[0] === entry.partition && last[1] === entry.id) {
    last[3]++
    return
  }
  draft.entries.push([entry.partition, entry.id, entry.block.commit ?? '', 1])
}

function draftFor(drafts: Map<string, Draft>, entry: EntryOfRows, { tenantId, hour }: PayloadOrigin): Draft {
  const { job } = entry.block
  const key = `${tenantId}\t${hour}\t${job ?? ''}`
  const known = drafts.get(key)
  if (known !== undefined) return known
  const source = job === undefined ? 'ingest' : 'batch'
  const location = { tenantId, day: hour.slice(0, 10), source, run: job ?? hour } as const
  const draft: Draft = { ...location, lines: [], entries: [], requests: [], rejected: [], first: entry }
  drafts.set(key, draft)
  return draft
}

function isBefore(a: EntryOfRows, b: EntryOfRows): boolean {
  const [aMs, aSequence] = a.id.split('-').map(Number) as [number, number]
  const [bMs, bSequence] = b.id.split('-').map(Number) as [number, number]
  return (aMs - bMs || aSequence - bSequence || a.partition - b.partition) < 0
}

function finished({ lines, entries, requests, rejected, first, ...location }: Draft): Part {
  const bytes = lines.reduce((sum, line) => sum + line.length, 0)
  const index = {
    lane: first.lane,
    lines: lines.length,
    bytes,
    entries,
    ...(requests.some(([id]) => id !== '') && { requests }),
    ...(rejected.length > 0 && { rejected }),
  }
  return { location: { ...location, name: partName(first.id, first.partition) }, lines, index }
}
