import { addFiltered, type FilteredBy, type FilteredCounts, filteredBy } from '../../../schemas/filtered.ts'
import { OUTCOME_COLUMNS, OUTCOME_STATUS } from '../../../schemas/outcome.ts'
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
  /** The source whose key brought the events; `''` or undefined: an API key did. */
  readonly sourceId?: string | undefined
}

/** The columns of a row of `outcomes` between `source` and the number of events, and the source id if there is one. */
export function outcomeKey(outcomes: OutcomeFields): string {
  const { tenantId, day, job, status, reason = '', classification = '', sourceId = '' } = outcomes
  const key = `${tenantId}\t${day}\t${tsv(job ?? '')}\t${tsv(status)}\t${tsv(reason)}\t${classification}`
  return sourceId === '' ? key : `${key}\t${sourceId}`
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

/** The filtered events by reason. */
export function filteredOf(counts: OutcomeCounts): FilteredCounts {
  const filtered: Partial<Record<FilteredBy, number>> = {}
  for (const [key, events] of counts) {
    const [status, reason, classification] = key.split('\t').slice(STATUS_AT)
    if (status === OUTCOME_STATUS.filtered) addFiltered(filtered, filteredBy(reason!, classification!), events)
  }
  return filtered
}

/**
 * Makes rows of `outcomes`.
 * @param sources counts by the value of `source`, which must be unique for all time
 */
export function packOutcomes(sources: readonly (readonly [source: string, counts: OutcomeCounts])[]): Block {
  const rows = sources.flatMap(([source, counts]) =>
    [...counts].map(([key, n]) => `${tsv(source)}\t${withCount(key, n)}`),
  )
  return packBlock(rows.map((row) => ({ identity: NO_IDENTITY, state: EnvelopeState.Enriched, row })))
}

const SOURCE_ID_AT = OUTCOME_COLUMNS.indexOf('source_id') - 2

/** The number of events comes before the id of a source. */
function withCount(key: string, events: number): string {
  const columns = key.split('\t')
  columns.splice(SOURCE_ID_AT, 0, String(events))
  return columns.join('\t')
}

export const DAY_MS = 86_400_000
let lastDay = { number: Number.NaN, text: '' }

/** The UTC day, `YYYY-MM-DD`. */
export function utcDay(ms: number): string {
  const number = Math.floor(ms / DAY_MS)
  if (number !== lastDay.number) lastDay = { number, text: new Date(ms).toISOString().slice(0, 10) }
  return lastDay.text
}

const TAB = 9
const CLASSIFICATION_AT = ROW_COLUMNS.indexOf('classification')
const SOURCE_AT = ROW_COLUMNS.indexOf('source_id')

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
    const isRaw = stateAt(block, index) === EnvelopeState.Raw
    const classification = isRaw ? '' : classificationOf(block, index, ends)
    const sourceId = block.sourceId ?? (isRaw ? '' : columnIn(block.rows, from, to, SOURCE_AT))
    const key = outcomeKey({ ...receipt, job: block.job, status, ...(reason && { reason }), classification, sourceId })
    countOutcome(this.counts, key)
    return key
  }
}

/** The class of the address of an enriched event; `''` when unknown. @param ends see `rowEnds` */
export function classificationOf({ rows }: Pick<Block, 'rows'>, index: number, ends: Uint32Array): string {
  return columnIn(rows, index === 0 ? 0 : ends[index - 1]!, ends[index]! - 1, CLASSIFICATION_AT)
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

/** A column of a row; `''` when the row ends before it. Counts from the start, because rows of different versions end with different columns. */
function columnIn(rows: Buffer, from: number, to: number, index: number): string {
  let start = from
  for (let columns = index; columns > 0 && start < to; columns--) start = endOfColumn(rows, start, to) + 1
  return start >= to ? '' : rows.toString('latin1', start, endOfColumn(rows, start, to))
}
