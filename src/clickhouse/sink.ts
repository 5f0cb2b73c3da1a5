import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { LeaseLostError } from '../core/run/errors.ts'
import type { Service } from '../core/run/service.ts'
import { insertBisecting, type RowInserter, repeatInsert } from './insert.ts'
import type { RefusedEvent, SinkIntent, SinkRun, SinkSource } from './sink-source.ts'

export interface ClickHouseSinkOptions {
  readonly source: SinkSource
  readonly inserter: RowInserter
  /** Brings the schema up to date; called before the first insert, and again after ClickHouse was away. */
  readonly migrate: () => Promise<void>
  /** Rows of one insert. */
  readonly rowsMax: number
  /** Time between the starts of two inserts, milliseconds, unless `rowsMax` rows wait. */
  readonly lingerMs: number
  readonly log: Logger
  readonly onInserted?: (rows: number, durationMs: number) => void
}

/** After a pause the first rows wait only this long for company. */
const GATHER_MS = 50
const IDLE_WAIT_MS = 500
const BACKLOG_ROWS = 1_000
const STRAY_CHECK_MS = 5_000
const RETRY_DELAY_MIN_MS = 100
const RETRY_DELAY_MAX_MS = 5_000

/**
 * Moves rows from streams into ClickHouse, exactly once. States: waiting for the lease; recovering (repeat the intent of
 * the owner before, then what it left pending); running (gather, write the intent, insert with its token, acknowledge,
 * clear the intent). Any failure leads back to recovering, which repeats the very same rows under the very same token, so
 * that ClickHouse drops what it has already.
 */
export class ClickHouseSink implements Service {
  readonly name = 'clickhouse sink'
  readonly #options: ClickHouseSinkOptions
  readonly #stopping = new AbortController()
  #loop: Promise<void> = Promise.resolve()
  #lastInsertAtMs = 0
  #strayCheckAtMs = 0
  #migrated = false
  #markReady: () => void = () => {}
  /** Resolves when the schema is up to date for the first time. */
  readonly ready = new Promise<void>((resolve) => {
    this.#markReady = resolve
  })

  constructor(options: ClickHouseSinkOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
    await this.#options.source.close()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    let failures = 0
    while (!signal.aborted) {
      try {
        await this.#migrate()
        if (!(await this.#options.source.acquire(signal))) break
        await this.#recover()
        failures = 0
        while (!signal.aborted) await this.#round()
      } catch (error) {
        if (signal.aborted) break
        const delayMs = Math.min(RETRY_DELAY_MIN_MS * 2 ** failures++, RETRY_DELAY_MAX_MS)
        const message =
          error instanceof LeaseLostError ? 'another sink took over' : 'sink waits; its rows stay in Redis'
        this.#options.log.warn({ err: error, delayMs }, message)
        this.#migrated = false
        await sleep(delayMs, undefined, { signal }).catch(() => {})
      }
    }
    await this.#options.source.release().catch(() => {})
  }

  async #migrate(): Promise<void> {
    if (this.#migrated) return
    await this.#options.migrate()
    this.#migrated = true
    this.#markReady()
  }

  async #recover(): Promise<void> {
    const { source, rowsMax } = this.#options
    const intent = await source.intent()
    if (intent !== undefined) await this.#repeat(intent)
    for (;;) {
      const runs = await source.readPending(rowsMax)
      if (runs.length === 0) return
      await this.#deliver(runs)
    }
  }

  async #repeat(intent: SinkIntent): Promise<void> {
    const { source, log } = this.#options
    const { runs, inserted } = await source.readRanges(intent)
    log.warn({ token: intent.token, rows: countRows(runs), inserted }, 'finishing the insert of an earlier run')
    if (inserted || intent.refused !== undefined) await this.#acknowledge(runs, refusedOf(intent, runs))
    else await this.#insert(runs, intent, repeatInsert)
  }

  async #round(): Promise<void> {
    const { source } = this.#options
    if (performance.now() >= this.#strayCheckAtMs) {
      this.#strayCheckAtMs = performance.now() + STRAY_CHECK_MS
      if (await source.hasStrayPending()) await this.#recover()
    }
    const runs = await this.#gather()
    if (runs.length > 0) await this.#deliver(runs)
  }

  /** Reads until enough rows are there, or the next insert is due. */
  async #gather(): Promise<SinkRun[]> {
    const { source, rowsMax, lingerMs } = this.#options
    let runs = await source.readNew(rowsMax, IDLE_WAIT_MS)
    if (runs.length === 0) return runs
    const dueAtMs = Math.max(performance.now() + GATHER_MS, this.#lastInsertAtMs + lingerMs)
    while (!this.#stopping.signal.aborted) {
      const room = rowsMax - countRows(runs)
      const leftMs = dueAtMs - performance.now()
      if (room <= 0 || leftMs <= 0) break
      const more = await source.readNew(room, Math.min(leftMs, GATHER_MS))
      runs = mergeRuns(runs, more)
      // Behind a backlog there is no time to lose; otherwise a pause lets a few more rows come together.
      if (more.length > 0 && countRows(more) < BACKLOG_ROWS) await sleep(Math.min(leftMs, GATHER_MS))
    }
    return runs
  }

  async #deliver(runs: readonly SinkRun[]): Promise<void> {
    const intent: SinkIntent = {
      token: randomUUID(),
      ranges: runs.map(({ partition, lane, entries }) => ({
        partition,
        lane,
        first: entries[0]!.id,
        last: entries[entries.length - 1]!.id,
        entries: entries.length,
      })),
    }
    await this.#options.source.writeIntent(intent)
    await this.#insert(runs, intent)
  }

  async #insert(runs: readonly SinkRun[], intent: SinkIntent, insert = insertBisecting): Promise<void> {
    const { source, inserter, onInserted } = this.#options
    const startedAtMs = performance.now()
    this.#lastInsertAtMs = startedAtMs
    const entries = runs.flatMap((run) => run.entries)
    const refused = await insert(inserter, entries, intent.token)
    if (refused.length > 0) {
      this.#options.log.error({ rows: refused.length, reason: refused[0]!.reason }, 'ClickHouse refuses rows')
      await source.writeIntent({ ...intent, refused: positionsOf(refused, runs) })
    }
    await this.#acknowledge(runs, refused)
    onInserted?.(countRows(runs) - refused.length, performance.now() - startedAtMs)
  }

  async #acknowledge(runs: readonly SinkRun[], refused: readonly RefusedEvent[]): Promise<void> {
    const { source } = this.#options
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
    return entry === undefined ? [] : [{ entry, index, reason }]
  })
}

function countRows(runs: readonly SinkRun[]): number {
  let rows = 0
  for (const run of runs) for (const entry of run.entries) rows += entry.block.count
  return rows
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
