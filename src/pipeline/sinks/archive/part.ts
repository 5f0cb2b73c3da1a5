import { setImmediate as nextTurn } from 'node:timers/promises'
import { ARCHIVE_FORM } from '../../../../schemas/forms.ts'
import { NewerDataError } from '../../../run/errors.ts'
import type { EntryOfRows } from '../../declaration/destination.ts'
import {
  type Counted,
  hasPayloadHead,
  type PayloadOrigin,
  payloadLineStart,
  payloadOrigin,
  readCounted,
} from '../../event/payload.ts'
import { type PartLocation, partName } from './layout.ts'

/** An entry of the payload stream: the commit that wrote it, and its number of lines in the part. In the order of the lines. */
type IndexEntry = readonly [partition: number, id: string, commit: string, lines: number]

/** Metadata of a part, stored as JSON. */
export interface PartIndex {
  /** Its form; undefined: 1. See `ARCHIVE_FORM`. */
  readonly form?: number
  readonly lane: 'live' | 'batch'
  readonly lines: number
  /** Size of the lines, before compression. */
  readonly bytes: number
  readonly entries: readonly IndexEntry[]
  /**
   * The requests of live events, in the order of the lines, each with its number of consecutive lines. The id is `''` if an earlier
   * version received the events; undefined if all are.
   */
  readonly requests?: readonly IndexRequest[]
  /** Events that are only counted, and not in the part: rejected, or without an address. Undefined if there are none. */
  readonly rejected?: readonly IndexRejected[]
}

/**
 * Parses the index of a part.
 * @param key of the part, for the message
 * @throws NewerDataError when a later version wrote the part
 */
export function readIndex<Index extends PartIndex = PartIndex>(text: string, key: string): Index {
  const index = JSON.parse(text) as Index
  const { form = 1 } = index
  if (form <= ARCHIVE_FORM) return index
  throw new NewerDataError(
    `${key} in the archive has form ${form}, but this ipid reads form ${ARCHIVE_FORM}: use the version that wrote it, or a later one`,
  )
}

/** Events of a commit that are only counted. */
type IndexRejected = readonly [partition: number, id: string, commit: string, ...Counted]

/** `x-request-id`, and number of lines. */
type IndexRequest = readonly [id: string, lines: number]

/** Events that become one object. */
export interface Part {
  readonly location: PartLocation
  /** Each ends with a line feed. */
  readonly lines: readonly Buffer[]
  readonly index: PartIndex
}

/** A part that still gathers events. */
interface Draft extends Omit<PartLocation, 'name'> {
  readonly lines: Buffer[]
  readonly entries: [number, string, string, number][]
  readonly requests: [string, number][]
  readonly rejected: IndexRejected[]
  first: EntryOfRows
}

const LINE_FEED = 10
const NO_HEAD = Buffer.alloc(0)
/** Pauses after this many lines, because the process may have other roles. */
const LINES_A_TURN = 2_000

/** Groups the events of entries by tenant, day, source and run. The same entries in the same order make the same parts. */
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
  let head: Buffer = NO_HEAD
  let requestId = ''
  let start = 0
  for (let i = 0; i < count; i++) {
    // Most rows have the same head as the row before.
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
    const rejected = readCounted(rows.subarray(lineStart, end - 1))
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
