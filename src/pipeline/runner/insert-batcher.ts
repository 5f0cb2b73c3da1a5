import { pause } from '../../run/loop.ts'
import type { SinkRun, SinkSource } from './sink-ports.ts'

/** How much a sink inserts at once, and how long it gathers rows for an insert. */
export interface InsertBatcherOptions {
  /** Maximum rows of an insert. */
  readonly rowsMax: number
  /** Approximate maximum bytes of an insert, estimated from the size of earlier rows. Default: no limit. */
  readonly bytesMax?: number
  /** How long to gather after the first rows, milliseconds. Default: 50. */
  readonly gatherMs?: number
  /** Longest wait between two reads, milliseconds. Default: an eighth of the linger, at least 50. */
  readonly pollMs?: number
  /** A read that returns this many rows suggests a backlog: the next read follows at once. Default: 1,000. */
  readonly backlogRows?: number
  /**
   * Time between the starts of two inserts, milliseconds. An insert starts earlier once `rowsMax` rows have gathered, or once a
   * tenth of them has and a read finds no more.
   */
  readonly lingerMs: number
  /** About how many bytes of rows to read ahead while a full insert runs. Default: 0. */
  readonly aheadBytesMax?: number
}

const GATHER_MS = 50
const POLL_MS = 50
/** Reads during one linger, at most. */
const POLL_ROUNDS = 8
const IDLE_WAIT_MS = 2_000
const BACKLOG_ROWS = 1_000
/** Inserts early once this share of a full insert has gathered and no more rows come, as at the end of an upload. */
const QUIET_SHARE = 0.1
/** Assumed size of a row until one was read. */
const ROW_BYTES = 1_024
/** Reads ahead at most this share of a full insert. The rest is read when its turn comes, live rows first. */
const AHEAD_SHARE = 0.75

interface Size {
  readonly rows: number
  readonly bytes: number
}

/** Reads the rows of a sink's next insert. Rows that were read ahead have no intent yet: after `drop` they are just pending. */
export class InsertBatcher {
  readonly #source: SinkSource
  readonly #options: InsertBatcherOptions
  readonly #signal: AbortSignal
  #ahead: Promise<SinkRun[]> | undefined
  /** Mean size of the rows gathered last. */
  #rowBytes = ROW_BYTES

  /** @param signal stops gathering, because the sink stops: `next` returns the rows it has */
  constructor(source: SinkSource, options: InsertBatcherOptions, signal: AbortSignal) {
    this.#source = source
    this.#options = options
    this.#signal = signal
  }

  /** How many rows fit into an insert, if they are as large as the rows before. */
  get room(): number {
    return this.#roomLeft({ rows: 0, bytes: 0 })
  }

  /** Whether rows were read ahead, or are being read. */
  get isAhead(): boolean {
    return this.#ahead !== undefined
  }

  /** Reads until an insert is full or due. @param lastInsertAtMs when the last insert began */
  async next(lastInsertAtMs: number): Promise<SinkRun[]> {
    const { rowsMax, lingerMs } = this.#options
    const { gatherMs = GATHER_MS, backlogRows = BACKLOG_ROWS } = this.#options
    const { pollMs = Math.max(POLL_MS, lingerMs / POLL_ROUNDS) } = this.#options
    let runs = await this.#first()
    if (runs.length === 0) return runs
    let quietAtMs = performance.now() + gatherMs
    const dueAtMs = Math.max(quietAtMs, lastInsertAtMs + lingerMs)
    for (let isDue = false; !isDue && !this.#signal.aborted; ) {
      const size = sizeOf(runs)
      this.#noteRowBytes(size)
      const room = this.#roomLeft(size)
      if (room <= 0) break
      const leftMs = Math.max(0, dueAtMs - performance.now())
      // Reads once more when the insert is due, so that rows which came meanwhile are part of it.
      isDue = leftMs === 0
      const readAtMs = performance.now()
      const more = await this.#source.readNew(room, Math.min(leftMs, pollMs))
      runs = mergeRuns(runs, more)
      if (more.length > 0) quietAtMs = Math.max(quietAtMs, performance.now() + pollMs)
      else if (readAtMs >= quietAtMs && countRows(runs) >= QUIET_SHARE * rowsMax) break
      // Pauses to gather more rows, unless there is a backlog.
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

  /** How many more rows fit into an insert; 0 or less: none. */
  #roomLeft({ rows, bytes }: Size): number {
    const { rowsMax, bytesMax = Number.POSITIVE_INFINITY } = this.#options
    return bytes >= bytesMax ? 0 : Math.min(rowsMax - rows, Math.ceil((bytesMax - bytes) / this.#rowBytes))
  }

  /** Starts to read the rows after `runs`, if those fill an insert. `next` reports a failure of this read. */
  readAhead(runs: readonly SinkRun[]): void {
    const { rowsMax, aheadBytesMax = 0 } = this.#options
    const size = sizeOf(runs)
    this.#noteRowBytes(size)
    if (this.#roomLeft(size) > 0 || this.#signal.aborted) return
    const room = Math.floor(Math.min(AHEAD_SHARE * rowsMax, (aheadBytesMax * size.rows) / size.bytes))
    if (room === 0) return
    this.#ahead = this.#source.readNew(room, 0)
    this.#ahead.catch(() => {})
  }

  /** Forgets the rows that were read ahead. Resolves when no read is in flight. */
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
