import { OUTCOME_COLUMNS } from '../../../schemas/outcome.ts'
import { ROW_COLUMNS } from '../../../schemas/row.ts'
import { type Block, packBlock, rowEnds, stateAt } from './block.ts'
import { EnvelopeState, NO_IDENTITY } from './envelope.ts'
import { tsv } from './row.ts'

/*
 * Events that are not stored are counted as rows of `outcomes` (schemas/README.md, Outcomes). The counts of an entry, or of
 * a commit, travel as a block of their own, which is written together with what becomes of the events.
 */

/** Numbers of events by `outcomeKey`. */
export type OutcomeCounts = ReadonlyMap<string, number>

export const NO_OUTCOMES: OutcomeCounts = new Map()

export interface Outcomes {
  readonly tenantId: string
  /** UTC day of receipt, `YYYY-MM-DD`. */
  readonly day: string
  /** The batch job; undefined for live events. */
  readonly job?: string | undefined
  readonly status: string
  /** Why, in a few fixed words; default: the status says it. */
  readonly reason?: string
  readonly classification?: string
}

/** The columns of a row of `outcomes` between its source and its number of events. */
export function outcomeKey({ tenantId, day, job, status, reason = '', classification = '' }: Outcomes): string {
  return `${tenantId}\t${day}\t${tsv(job ?? '')}\t${tsv(status)}\t${tsv(reason)}\t${classification}`
}

export function countOutcome(counts: Map<string, number>, key: string, events = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + events)
}

const STATUS_AT = OUTCOME_COLUMNS.indexOf('status') - 1

/** @param key see `outcomeKey` */
export function statusOfKey(key: string): string {
  return key.split('\t')[STATUS_AT]!
}

/** For metrics. */
export function eventsByStatus(counts: OutcomeCounts): Map<string, number> {
  const sums = new Map<string, number>()
  for (const [key, events] of counts) countOutcome(sums, statusOfKey(key), events)
  return sums
}

/**
 * Rows of `outcomes`.
 * @param parts counts, each with what stands in `source`: it never comes twice
 */
export function packOutcomes(parts: readonly (readonly [source: string, counts: OutcomeCounts])[]): Block {
  const rows = parts.flatMap(([source, counts]) => [...counts].map(([key, n]) => `${tsv(source)}\t${key}\t${n}`))
  return packBlock(rows.map((row) => ({ identity: NO_IDENTITY, state: EnvelopeState.Enriched, row })))
}

const DAY_MS = 86_400_000
let lastDay = { number: Number.NaN, text: '' }

/** The UTC day, `YYYY-MM-DD`. */
export function utcDay(ms: number): string {
  const number = Math.floor(ms / DAY_MS)
  if (number !== lastDay.number) lastDay = { number, text: new Date(ms).toISOString().slice(0, 10) }
  return lastDay.text
}

const TAB = 9
const CLASSIFICATION_AT = ROW_COLUMNS.indexOf('classification')

/** Counts events of one block by what their rows say. */
export class BlockOutcomes {
  readonly counts = new Map<string, number>()

  /**
   * Counts an event. One with an empty row is left out: earlier versions wrote them for noise, and nobody knows whose they
   * were.
   * @param ends of the rows of the block, see `rowEnds`
   * @returns the key under which it is counted
   */
  add(
    block: Block,
    index: number,
    status: string,
    reason?: string,
    ends: Uint32Array = rowEnds(block),
  ): string | undefined {
    const from = index === 0 ? 0 : ends[index - 1]!
    const to = ends[index]! - 1
    if (from === to) return undefined
    const receipt = receiptOf(block.rows, from, to)
    const classification = stateAt(block, index) === EnvelopeState.Raw ? '' : classificationOf(block.rows, from, to)
    const key = outcomeKey({ ...receipt, job: block.job, status, ...(reason && { reason }), classification })
    countOutcome(this.counts, key)
    return key
  }
}

/** Tenant and day, from the head of a row. */
function receiptOf(rows: Buffer, from: number, to: number): { tenantId: string; day: string } {
  const tenantAt = endOfColumn(rows, from, to) + 1
  const tenantEnd = endOfColumn(rows, tenantAt, to)
  const receivedAt = endOfColumn(rows, tenantEnd + 1, to) + 1
  const received = rows.toString('latin1', receivedAt, endOfColumn(rows, receivedAt, to))
  const seconds = Number(received)
  return {
    tenantId: rows.toString('latin1', tenantAt, tenantEnd),
    // Times far from ours are written as text; see `tsvTime`.
    day: received[4] === '-' ? received.slice(0, 10) : utcDay(Number.isFinite(seconds) ? seconds * 1_000 : 0),
  }
}

function endOfColumn(rows: Buffer, from: number, to: number): number {
  let at = from
  while (at < to && rows[at] !== TAB) at++
  return at
}

/** Counted from the start: nothing else tells which columns a row has behind it, see `ROW_COLUMNS`. */
function classificationOf(rows: Buffer, from: number, to: number): string {
  let start = from
  for (let columns = CLASSIFICATION_AT; columns > 0; columns--) start = endOfColumn(rows, start, to) + 1
  return start >= to ? '' : rows.toString('latin1', start, endOfColumn(rows, start, to))
}
