import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { LeaseLostError, NewerDataError, StartupError, throwLater } from '../../run/errors.ts'
import { type DelayBounds, Loop, pause, retry } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import type { Service } from '../../run/service.ts'
import { type Inserter, UnclearRefusalError } from '../declaration/destination.ts'
import type { Block } from '../event/block.ts'
import { insertAbsent, insertBisecting, repeatInsert, UnclearRefusals } from './insert.ts'
import type { RefusedEvent, SinkIntent, SinkRun, SinkSource } from './sink-ports.ts'

export interface SinkWorkerOptions extends InsertBatcherOptions {
  readonly group: string
  readonly source: SinkSource
  readonly inserter: Inserter
  /** Whether `start` waits until the destination is ready. */
  readonly startsReady: boolean
  /** How long a destination may be down before a shared sink gives its lease back, milliseconds. Default: 20 s. */
  readonly prepareMs?: number
  /** Delay between tries after a failure. Default: 100 ms to 5 s. */
  readonly retryDelay?: DelayBounds
  readonly log: Logger
  /** See `RowObserver`. */
  readonly observe?: ((blocks: readonly Block[]) => Promise<void>) | undefined
  readonly onInserted?: (rows: number, durationMs: number) => void
  /** Called for each failed insert that will be tried again. */
  readonly onInsertFailed?: () => void
  /** Called when rows are refused. @param rows 0 if they will be tried again @param kind the reason in a few words */
  readonly onRefused?: (rows: number, kind: string) => void
}

const STRAY_CHECK_MS = 5_000
/** After this many inserts with read-ahead, makes one without: `givesBack` and the stray check need a moment without work. */
const AHEAD_MAX = 4
/** A stop waits this long for an insert in flight, then aborts it. */
const ABORT_AFTER_MS = 3_000
/** Does not grow far, because a destination that is starting is ready soon and rows wait for it. */
const PREPARE_DELAY: DelayBounds = { minMs: 50, maxMs: 300 }
const PREPARE_MS = 20_000
const RETRY_DELAY: DelayBounds = { minMs: 100, maxMs: 5_000 }

/**
 * Moves rows from streams to a destination, exactly once. It has three states. Waiting: it waits for the lease. Recovering: it
 * repeats the intent of the last holder, then inserts the entries that are still pending. Running: it gathers rows, writes the
 * intent, inserts under its token, acknowledges, and clears the intent.
 *
 * Any failure leads back to recovering. That repeats the same rows under the same token, so the destination drops those it has.
 * During a full insert the worker reads ahead. It sends these rows only after the earlier intent is cleared and their own is written.
 */
export class SinkWorker implements Service {
  readonly name: string
  readonly #options: SinkWorkerOptions
  readonly #loop: Loop
  readonly #refusals: UnclearRefusals
  readonly #batcher: InsertBatcher
  /** The source of the options, except while the worker finishes the intent of another source. */
  #source: SinkSource
  #closed: Promise<void> | undefined
  #lastInsertAtMs = 0
  #strayCheckAtMs = 0
  /** Inserts in a row with read-ahead. */
  #inserts = 0
  #markReady: () => void = () => {}
  #markRefused: (reason: NewerDataError) => void = () => {}
  readonly #ready = new Promise<void>((resolve, reject) => {
    this.#markReady = resolve
    this.#markRefused = reject
  })
  /** Whether `start` waits for `#ready`. */
  #isStarting = false

  constructor(options: SinkWorkerOptions) {
    this.name = `sink ${options.group}`
    this.#options = options
    this.#source = options.source
    const { maxMs } = options.retryDelay ?? RETRY_DELAY
    this.#refusals = new UnclearRefusals(options.inserter, (intent) => this.#source.writeIntent(intent), maxMs)
    this.#loop = new Loop({
      name: this.name,
      enter: (signal) => this.#enter(signal),
      round: () => this.#round(),
      leave: async () => {
        await this.#batcher.drop()
        await options.source.release()
      },
      failed: (err, delayMs) => {
        if (err instanceof NewerDataError) return this.#refuse(err)
        const isTaken = err instanceof LeaseLostError
        const { log, group } = options
        log.warn(
          { err, group, delay_ms: Math.round(delayMs), ...PASSING },
          isTaken ? 'another sink took over' : 'sink waits; its rows stay in Redis',
        )
      },
      delay: options.retryDelay ?? RETRY_DELAY,
    })
    this.#batcher = new InsertBatcher(options.source, options, this.#loop.signal)
  }

  /**
   * With `startsReady`, resolves when the destination is ready for the first time, or the sink stops.
   * @throws NewerDataError when a later version has changed the destination
   */
  async start(): Promise<void> {
    this.#isStarting = this.#options.startsReady
    await this.#loop.start()
    try {
      if (this.#isStarting) await this.#ready
    } finally {
      this.#isStarting = false
    }
  }

  async stop(): Promise<void> {
    const late = setTimeout(() => this.#options.inserter.abort?.(), ABORT_AFTER_MS)
    await this.#loop.stop()
    clearTimeout(late)
    this.#markReady()
    this.#closed ??= this.#close()
    await this.#closed
  }

  /** Ends the process: only a later version can continue. */
  #refuse(reason: NewerDataError): void {
    if (this.#isStarting) this.#markRefused(reason)
    else throwLater(reason)
  }

  async #close(): Promise<void> {
    const { source, inserter } = this.#options
    await source.close()
    await inserter.close()
  }

  async #enter(signal: AbortSignal): Promise<undefined> {
    const { source, inserter } = this.#options
    // Entries that were read ahead are pending: recovery reads them again.
    await this.#batcher.drop()
    const isFinal = (error: unknown) => error instanceof StartupError
    const deadlineMs = performance.now() + (this.#options.prepareMs ?? PREPARE_MS)
    try {
      await retry(() => inserter.prepare(), { delay: PREPARE_DELAY, deadlineMs, signal, isFinal })
    } catch (error) {
      // Another process may still reach the destination.
      if (source.isShared) await source.release()
      throw error
    }
    this.#markReady()
    if (await source.acquire(signal, (other) => this.#finishAt(other))) await this.#recover()
  }

  async #finishAt(source: SinkSource): Promise<void> {
    this.#source = source
    try {
      await this.#finishIntent()
    } finally {
      this.#source = this.#options.source
    }
  }

  async #finishIntent(): Promise<void> {
    const intent = await this.#source.intent()
    if (intent !== undefined) await this.#repeat(intent)
  }

  async #recover(): Promise<void> {
    await this.#finishIntent()
    for (;;) {
      const runs = await this.#source.readPending(this.#batcher.room)
      if (runs.length === 0) return
      await this.#deliver(runs)
    }
  }

  async #repeat(intent: SinkIntent): Promise<void> {
    const { runs, inserted } = await this.#source.readRanges(intent)
    const { log, inserter } = this.#options
    log.warn({ token: intent.token, rows: countRows(runs), inserted }, 'finishing the insert of an earlier run')
    if (intent.refused !== undefined) return await this.#acknowledge(runs, refusedOf(intent, runs))
    if (!inserted) return await this.#insert(runs, intent, repeatInsert)
    // A Redis Cluster may lose deliveries in a failover. Their entries look acknowledged, although they were never inserted.
    if (inserter.receivedAt === undefined || runs.length === 0) await this.#acknowledge(runs, [])
    else await this.#insert(runs, { ...intent, mayBeStored: true }, repeatInsert)
  }

  async #round(): Promise<undefined> {
    const { source } = this.#options
    if (!this.#batcher.isAhead) {
      this.#inserts = 0
      if (source.givesBack()) {
        await source.release()
        return await this.#enter(this.#loop.signal)
      }
      if (performance.now() >= this.#strayCheckAtMs) {
        this.#strayCheckAtMs = performance.now() + STRAY_CHECK_MS
        if (await source.hasStrayPending()) await this.#recover()
      }
    }
    const runs = await this.#batcher.next(this.#lastInsertAtMs)
    if (runs.length > 0) await this.#deliver(runs, this.#inserts++ < AHEAD_MAX)
  }

  /** @param readsAhead whether to read the next rows during the insert */
  async #deliver(runs: readonly SinkRun[], readsAhead = false): Promise<void> {
    const mayBeStored = await this.#mayBeStored(runs)
    const intent: SinkIntent = {
      token: this.#options.inserter.newToken?.() ?? randomUUID(),
      ranges: runs.map(({ partition, lane, entries }) => ({
        partition,
        lane,
        first: entries[0]!.id,
        last: entries[entries.length - 1]!.id,
        entries: entries.length,
      })),
      ...(mayBeStored && { mayBeStored }),
    }
    await this.#source.writeIntent(intent)
    if (readsAhead) this.#batcher.readAhead(runs)
    await this.#insert(runs, intent)
  }

  /** Checks the first row of each entry: the events of an entry came at about the same time, in this order. */
  async #mayBeStored(runs: readonly SinkRun[]): Promise<boolean> {
    const { source, inserter } = this.#options
    if (inserter.receivedAt === undefined) return false
    const forgotBeforeMs = await source.forgotBefore()
    return runs.some(({ entries }) => entries.some(({ block }) => inserter.receivedAt!(block.rows) < forgotBeforeMs))
  }

  async #insert(runs: readonly SinkRun[], intent: SinkIntent, insert = insertBisecting): Promise<void> {
    const { inserter, onInserted, onInsertFailed } = this.#options
    const startedAtMs = performance.now()
    this.#lastInsertAtMs = startedAtMs
    const entries = runs.flatMap((run) => run.entries)
    const refusals = this.#refusals
    refusals.begin(intent)
    const send = intent.mayBeStored && !refusals.isInParts ? insertAbsent : insert
    const refused = await send(inserter, entries, intent.token, refusals).catch((error) => {
      onInsertFailed?.()
      refusals.failed(error)
      if (error instanceof UnclearRefusalError) this.#options.onRefused?.(0, error.kind)
      throw error
    })
    if (refused.length > 0) {
      const { log, group, onRefused } = this.#options
      const { kind, reason } = refused[0]!
      log.error({ group, rows: refused.length, reason }, 'the destination refuses rows')
      onRefused?.(refused.length, kind)
      await this.#source.writeIntent({ ...refusals.intent, refused: positionsOf(refused, runs) })
    }
    await this.#acknowledge(runs, refused)
    onInserted?.(countRows(runs) - refused.length, performance.now() - startedAtMs)
  }

  async #acknowledge(runs: readonly SinkRun[], refused: readonly RefusedEvent[]): Promise<void> {
    const source = this.#source
    // Before the acknowledgement: after a crash here, recovery reads the same entries again.
    await this.#options.observe?.(runs.flatMap(({ entries }) => entries.map(({ block }) => block)))
    for (const run of runs) {
      const ofRun = refused.length === 0 ? [] : refused.filter((event) => run.entries.includes(event.entry))
      await source.acknowledge(run, ofRun)
    }
    await source.clearIntent()
  }
}

function positionsOf(refused: readonly RefusedEvent[], runs: readonly SinkRun[]): SinkIntent['refused'] {
  return refused.map(({ entry, index, reason }) => {
    const { partition, lane } = runs.find((run) => run.entries.includes(entry))!
    return { partition, lane, id: entry.id, index, reason }
  })
}

function refusedOf(intent: SinkIntent, runs: readonly SinkRun[]): RefusedEvent[] {
  return (intent.refused ?? []).flatMap(({ partition, lane, id, index, reason }) => {
    const run = runs.find((candidate) => candidate.partition === partition && candidate.lane === lane)
    const entry = run?.entries.find((candidate) => candidate.id === id)
    return entry === undefined ? [] : [{ entry, index, reason, kind: '' }]
  })
}

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
