import { OUTCOME_COLUMNS } from '../../../schemas/outcome.ts'
import { ROW_COLUMNS } from '../../../schemas/row.ts'
import { type Block, packBlock, rowEnds, stateAt } from './block.ts'
import { EnvelopeState, NO_IDENTITY } from './envelope.ts'
import { tsv } from './row.ts'

/*
 * Events that are not stored are counted as rows of `outcomes` (schemas/README.md, Outcomes). The counts of an entry or a commit
 * form a separate block, which is written in one step with the events' fate.
 */

/** Number of events by `outcomeKey`. */
export type OutcomeCounts = ReadonlyMap<string, number>

export const NO_OUTCOMES: OutcomeCounts = new Map()

interface OutcomeFields {
  readonly tenantId: string
  /** UTC day of receipt, `YYYY-MM-DD`. */
  readonly day: string
  /** The batch job; undefined for live events. */
  readonly job?: string | undefined
  readonly status: string
  /** A short fixed text. Default: none. */
  readonly reason?: string
  readonly classification?: string
}

/** The columns of a row of `outcomes` between `source` and the number of events. */
export function outcomeKey({ tenantId, day, job, status, reason = '', classification = '' }: OutcomeFields): string {
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
 * Makes rows of `outcomes`.
 * @param sources counts by the value of `source`, which must be unique for all time
 */
export function packOutcomes(sources: readonly (readonly [source: string, counts: OutcomeCounts])[]): Block {
  const rows = sources.flatMap(([source, counts]) => [...counts].map(([key, n]) => `${tsv(source)}\t${key}\t${n}`))
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

/** Counts events of a block by columns of their rows. */
export class BlockOutcomes {
  readonly counts = new Map<string, number>()

  /**
   * Counts an event. Skips one with an empty row: earlier versions wrote those for noise, and their tenant is unknown.
   * @param ends see `rowEnds`
   * @returns the key that counts it
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

/** Tenant and day of receipt of a row. */
function receiptOf(rows: Buffer, from: number, to: number): { tenantId: string; day: string } {
  const tenantAt = endOfColumn(rows, from, to) + 1
  const tenantEnd = endOfColumn(rows, tenantAt, to)
  const receivedAt = endOfColumn(rows, tenantEnd + 1, to) + 1
  const received = rows.toString('latin1', receivedAt, endOfColumn(rows, receivedAt, to))
  const seconds = Number(received)
  return {
    tenantId: rows.toString('latin1', tenantAt, tenantEnd),
    // `tsvTime` writes distant times as text.
    day: received[4] === '-' ? received.slice(0, 10) : utcDay(Number.isFinite(seconds) ? seconds * 1_000 : 0),
  }
}

function endOfColumn(rows: Buffer, from: number, to: number): number {
  let at = from
  while (at < to && rows[at] !== TAB) at++
  return at
}

/** Counts columns from the start, because rows of different versions end with different columns. */
function classificationOf(rows: Buffer, from: number, to: number): string {
  let start = from
  for (let columns = CLASSIFICATION_AT; columns > 0; columns--) start = endOfColumn(rows, start, to) + 1
  return start >= to ? '' : rows.toString('latin1', start, endOfColumn(rows, start, to))
}
