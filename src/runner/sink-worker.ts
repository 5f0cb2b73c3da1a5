import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { type Inserter, UnclearRefusalError } from '../core/pipeline/destination.ts'
import { LeaseLostError, StartupError } from '../core/run/errors.ts'
import type { Service } from '../core/run/service.ts'
import { Doubt } from './doubt.ts'
import { insertAbsent, insertBisecting, repeatInsert } from './insert.ts'
import { type DelayBounds, Loop, pause, retry } from './loop.ts'
import type { RefusedEvent, SinkIntent, SinkRun, SinkSource } from './sink-ports.ts'

export interface SinkWorkerOptions {
  readonly group: string
  readonly source: SinkSource
  readonly inserter: Inserter
  /** Whether a start waits until the destination is ready; others come when they come, and hold up nothing. */
  readonly startsReady: boolean
  /** Rows of one insert. */
  readonly rowsMax: number
  /** Bytes of rows of one insert; one read may pass it. Default: no limit. */
  readonly bytesMax?: number
  /** How long the first rows wait for company, milliseconds. Default: 50. */
  readonly gatherMs?: number
  /** How often it looks for company, milliseconds. Default: 50, or a 5th of the linger. */
  readonly pollMs?: number
  /** Behind a read of so many rows there are more, and it reads on at once. Default: 1,000. */
  readonly backlogRows?: number
  /** Time between the starts of two inserts, milliseconds, unless `rowsMax` rows wait. */
  readonly lingerMs: number
  /** How long a destination may be away before a shared source is given back, milliseconds. Default: 20 s. */
  readonly prepareMs?: number
  /** Between tries of what failed. Default: 100 ms to 5 s. */
  readonly retryDelay?: DelayBounds
  readonly log: Logger
  readonly onInserted?: (rows: number, durationMs: number) => void
  /** Called for each insert that failed, and is tried again. */
  readonly onInsertFailed?: () => void
  /** Called when rows are refused, for which reason in a few words; 0: they are tried again. */
  readonly onRefused?: (rows: number, kind: string) => void
}

const GATHER_MS = 50
const POLL_MS = 50
/** A linger is not spent on looking more often than this. */
const POLL_ROUNDS = 5
const IDLE_WAIT_MS = 500
const BACKLOG_ROWS = 1_000
const STRAY_CHECK_MS = 5_000
/** A stop waits this long for an insert that is under way. */
const ABORT_AFTER_MS = 3_000
/** A destination that is being started is there in a moment, and the rows of a growing delay would wait for it as long again. */
const PREPARE_DELAY: DelayBounds = { minMs: 50, maxMs: 300 }
const PREPARE_MS = 20_000
const RETRY_DELAY: DelayBounds = { minMs: 100, maxMs: 5_000 }

/**
 * Moves rows from streams to a destination, exactly once. States: waiting for the lease; recovering (repeat the intent of
 * the owner before, then what it left pending); running (gather, write the intent, insert with its token, acknowledge,
 * clear the intent). Any failure leads back to recovering, which repeats the very same rows under the very same token, so
 * that the destination drops what it has already.
 */
export class SinkWorker implements Service {
  readonly name: string
  readonly #options: SinkWorkerOptions
  readonly #loop: Loop
  readonly #doubt: Doubt
  /** The source of the options, but while an intent of another is finished. */
  #source: SinkSource
  #closed: Promise<void> | undefined
  #lastInsertAtMs = 0
  #strayCheckAtMs = 0
  #markReady: () => void = () => {}
  readonly #ready = new Promise<void>((resolve) => {
    this.#markReady = resolve
  })

  constructor(options: SinkWorkerOptions) {
    this.name = `sink ${options.group}`
    this.#options = options
    this.#source = options.source
    const { maxMs } = options.retryDelay ?? RETRY_DELAY
    this.#doubt = new Doubt(options.inserter, (intent) => this.#source.writeIntent(intent), maxMs)
    this.#loop = new Loop({
      name: this.name,
      enter: (signal) => this.#enter(signal),
      round: () => this.#round(),
      leave: () => options.source.release(),
      failed: (err, delayMs) => {
        const taken = err instanceof LeaseLostError
        const { log, group } = options
        log.warn(
          { err, group, delay_ms: Math.round(delayMs) },
          taken ? 'another sink took over' : 'sink waits; its rows stay in Redis',
        )
      },
      delay: options.retryDelay ?? RETRY_DELAY,
    })
  }

  /** With `startsReady` it resolves when the destination is ready for the first time, or the sink is stopped. */
  async start(): Promise<void> {
    await this.#loop.start()
    if (this.#options.startsReady) await this.#ready
  }

  async stop(): Promise<void> {
    const late = setTimeout(() => this.#options.inserter.abort?.(), ABORT_AFTER_MS)
    await this.#loop.stop()
    clearTimeout(late)
    this.#markReady()
    this.#closed ??= this.#close()
    await this.#closed
  }

  async #close(): Promise<void> {
    const { source, inserter } = this.#options
    await source.close()
    await inserter.close()
  }

  async #enter(signal: AbortSignal): Promise<undefined> {
    const { source, inserter } = this.#options
    const isFinal = (error: unknown) => error instanceof StartupError
    const deadlineMs = performance.now() + (this.#options.prepareMs ?? PREPARE_MS)
    try {
      await retry(() => inserter.prepare(), { delay: PREPARE_DELAY, deadlineMs, signal, isFinal })
    } catch (error) {
      // It may be away from here alone.
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
      const runs = await this.#source.readPending(this.#options.rowsMax)
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
    // Deliveries that a master of a Redis Cluster lost look as if they were acknowledged.
    if (inserter.receivedAt === undefined || runs.length === 0) await this.#acknowledge(runs, [])
    else await this.#insert(runs, { ...intent, mayBeStored: true }, repeatInsert)
  }

  async #round(): Promise<undefined> {
    const { source } = this.#options
    if (source.givesBack()) {
      await source.release()
      return await this.#enter(this.#loop.signal)
    }
    if (performance.now() >= this.#strayCheckAtMs) {
      this.#strayCheckAtMs = performance.now() + STRAY_CHECK_MS
      if (await source.hasStrayPending()) await this.#recover()
    }
    const runs = await this.#gather()
    if (runs.length > 0) await this.#deliver(runs)
  }

  /** Reads until enough rows are there, or the next insert is due. */
  async #gather(): Promise<SinkRun[]> {
    const { source, rowsMax, lingerMs, bytesMax = Number.POSITIVE_INFINITY } = this.#options
    const { gatherMs = GATHER_MS, backlogRows = BACKLOG_ROWS } = this.#options
    const { pollMs = Math.max(POLL_MS, lingerMs / POLL_ROUNDS) } = this.#options
    let runs = await source.readNew(rowsMax, IDLE_WAIT_MS)
    if (runs.length === 0) return runs
    const dueAtMs = Math.max(performance.now() + gatherMs, this.#lastInsertAtMs + lingerMs)
    for (let isDue = false; !isDue && !this.#loop.signal.aborted; ) {
      const room = rowsMax - countRows(runs)
      if (room <= 0 || countBytes(runs) >= bytesMax) break
      const leftMs = Math.max(0, dueAtMs - performance.now())
      // A last look when it is due: what came meanwhile need not wait for the next insert.
      isDue = leftMs === 0
      const more = await source.readNew(room, Math.min(leftMs, pollMs))
      runs = mergeRuns(runs, more)
      // Behind a backlog there is no time to lose; otherwise a pause lets a few more rows come together.
      if (more.length > 0 && countRows(more) < backlogRows) await pause(Math.min(leftMs, pollMs), this.#loop.signal)
    }
    return runs
  }

  async #deliver(runs: readonly SinkRun[]): Promise<void> {
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
    await this.#insert(runs, intent)
  }

  /** The events of an entry came at about the same time, the first of them first. */
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
    const doubt = this.#doubt
    doubt.begin(intent)
    const send = intent.mayBeStored && !doubt.isInParts ? insertAbsent : insert
    const refused = await send(inserter, entries, intent.token, doubt).catch((error) => {
      onInsertFailed?.()
      doubt.failed(error)
      if (error instanceof UnclearRefusalError) this.#options.onRefused?.(0, error.kind)
      throw error
    })
    if (refused.length > 0) {
      const { log, group, onRefused } = this.#options
      const { kind, reason } = refused[0]!
      log.error({ group, rows: refused.length, reason }, 'the destination refuses rows')
      onRefused?.(refused.length, kind)
      await this.#source.writeIntent({ ...doubt.intent, refused: positionsOf(refused, runs) })
    }
    await this.#acknowledge(runs, refused)
    onInserted?.(countRows(runs) - refused.length, performance.now() - startedAtMs)
  }

  async #acknowledge(runs: readonly SinkRun[], refused: readonly RefusedEvent[]): Promise<void> {
    const source = this.#source
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

function countRows(runs: readonly SinkRun[]): number {
  let rows = 0
  for (const run of runs) for (const entry of run.entries) rows += entry.block.count
  return rows
}

function countBytes(runs: readonly SinkRun[]): number {
  let bytes = 0
  for (const run of runs) for (const entry of run.entries) bytes += entry.block.rows.length
  return bytes
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
