import { pause } from '../../run/loop.ts'
import type { SinkRun, SinkSource } from './sink-ports.ts'

/** How much a sink inserts at once, and how long it waits for it. */
export interface InsertBatcherOptions {
  /** Rows of one insert. */
  readonly rowsMax: number
  /** Bytes of rows of one insert, about: a read is for as many rows as there is room for, of the size of those before. Default: no limit. */
  readonly bytesMax?: number
  /** How long the first rows wait for company, milliseconds. Default: 50. */
  readonly gatherMs?: number
  /** How long it waits for more at a time, milliseconds; a source may look more often. Default: 50, or an 8th of the linger. */
  readonly pollMs?: number
  /** Behind a read of so many rows there are more, and it reads on at once. Default: 1,000. */
  readonly backlogRows?: number
  /**
   * Time between the starts of two inserts, milliseconds, unless `rowsMax` rows wait; or a tenth of them, and no more come between
   * two looks.
   */
  readonly lingerMs: number
  /**
   * About so many bytes of rows are read while those before them are inserted, when those were as many as an insert may have.
   * Default: 0, none are.
   */
  readonly aheadBytesMax?: number
}

const GATHER_MS = 50
const POLL_MS = 50
/** Waits of a linger, at most. */
const POLL_ROUNDS = 8
const IDLE_WAIT_MS = 2_000
const BACKLOG_ROWS = 1_000
/** Of what an insert may have: so many are worth one, when no more come, as at the end of an upload. */
const QUIET_SHARE = 0.1
/** Of a row, before one was seen. */
const ROW_BYTES = 1_024
/** Of what an insert may have; the rest is read when it is its turn, live rows first. */
const AHEAD_SHARE = 0.75

/** Of what was gathered. */
interface Size {
  readonly rows: number
  readonly bytes: number
}

/**
 * Reads what a sink inserts next. What was read ahead is in hand like all that was read, without an intent: `drop` forgets it, and
 * its entries are pending.
 */
export class InsertBatcher {
  readonly #source: SinkSource
  readonly #options: InsertBatcherOptions
  readonly #signal: AbortSignal
  #ahead: Promise<SinkRun[]> | undefined
  /** Mean of what was gathered last. */
  #rowBytes = ROW_BYTES

  /** @param signal the sink is to end: what is there by then is enough */
  constructor(source: SinkSource, options: InsertBatcherOptions, signal: AbortSignal) {
    this.#source = source
    this.#options = options
    this.#signal = signal
  }

  /** Rows that an insert may have, of the size of those before. */
  get room(): number {
    return this.#roomBeside({ rows: 0, bytes: 0 })
  }

  /** Whether something was read ahead, or is being read. */
  get isAhead(): boolean {
    return this.#ahead !== undefined
  }

  /** Reads until enough rows are there, or the next insert is due. @param lastInsertAtMs when the last one began */
  async next(lastInsertAtMs: number): Promise<SinkRun[]> {
    const { rowsMax, lingerMs } = this.#options
    const { gatherMs = GATHER_MS, backlogRows = BACKLOG_ROWS } = this.#options
    const { pollMs = Math.max(POLL_MS, lingerMs / POLL_ROUNDS) } = this.#options
    let runs = await this.#first()
    if (runs.length === 0) return runs
    let quietAtMs = performance.now() + gatherMs
    const dueAtMs = Math.max(quietAtMs, lastInsertAtMs + lingerMs)
    for (let isDue = false; !isDue && !this.#signal.aborted; ) {
      const there = sizeOf(runs)
      this.#noteRowBytes(there)
      const room = this.#roomBeside(there)
      if (room <= 0) break
      const leftMs = Math.max(0, dueAtMs - performance.now())
      // A last look when it is due: what came meanwhile need not wait for the next insert.
      isDue = leftMs === 0
      const lookedAtMs = performance.now()
      const more = await this.#source.readNew(room, Math.min(leftMs, pollMs))
      runs = mergeRuns(runs, more)
      if (more.length > 0) quietAtMs = Math.max(quietAtMs, performance.now() + pollMs)
      else if (lookedAtMs >= quietAtMs && countRows(runs) >= QUIET_SHARE * rowsMax) break
      // Behind a backlog there is no time to lose; otherwise a pause lets a few more rows come together.
      if (more.length > 0 && countRows(more) < backlogRows) await pause(Math.min(leftMs, pollMs), this.#signal)
    }
    return runs
  }

  async #first(): Promise<SinkRun[]> {
    const ahead = this.#ahead
    this.#ahead = undefined
    const runs = (await ahead) ?? []
    return runs.length > 0 ? runs : await this.#source.readNew(this.room, IDLE_WAIT_MS, this.#signal)
  }

  #noteRowBytes({ rows, bytes }: Size): void {
    if (rows > 0) this.#rowBytes = bytes / rows
  }

  /** Rows that an insert may have beside those that are there; 0 or less: none. */
  #roomBeside({ rows, bytes }: Size): number {
    const { rowsMax, bytesMax = Number.POSITIVE_INFINITY } = this.#options
    return bytes >= bytesMax ? 0 : Math.min(rowsMax - rows, Math.ceil((bytesMax - bytes) / this.#rowBytes))
  }

  /** Reads what comes behind `runs`, when those are as many as an insert may have; a failure is told by `next`. */
  readAhead(runs: readonly SinkRun[]): void {
    const { rowsMax, aheadBytesMax = 0 } = this.#options
    const there = sizeOf(runs)
    this.#noteRowBytes(there)
    if (this.#roomBeside(there) > 0 || this.#signal.aborted) return
    // Reckoned with rows of the size of those before; larger ones take more.
    const room = Math.floor(Math.min(AHEAD_SHARE * rowsMax, (aheadBytesMax * there.rows) / there.bytes))
    if (room === 0) return
    this.#ahead = this.#source.readNew(room, 0)
    this.#ahead.catch(() => {})
  }

  /** Forgets what was read ahead. Resolves when no read is on its way. */
  async drop(): Promise<void> {
    await this.#ahead?.catch(() => {})
    this.#ahead = undefined
  }
}

export function countRows(runs: readonly SinkRun[]): number {
  let rows = 0
  for (const run of runs) for (const entry of run.entries) rows += entry.block.count
  return rows
}

function sizeOf(runs: readonly SinkRun[]): Size {
  let bytes = 0
  for (const run of runs) for (const entry of run.entries) bytes += entry.block.rows.length
  return { rows: countRows(runs), bytes }
}

function mergeRuns(runs: readonly SinkRun[], more: readonly SinkRun[]): SinkRun[] {
  const merged = [...runs]
  for (const run of more) {
    const at = merged.findIndex(({ partition, lane }) => partition === run.partition && lane === run.lane)
    if (at < 0) merged.push(run)
    else merged[at] = { ...run, entries: [...merged[at]!.entries, ...run.entries] }
  }
  return merged
}
