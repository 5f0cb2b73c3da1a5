import type { Logger } from 'pino'
import { NewerDataError, throwLater, UnavailableError } from '../../run/errors.ts'
import { Loop } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import type { Service } from '../../run/service.ts'
import { SettledElsewhereError, type Stage, type StageTools } from '../declaration/stage.ts'
import { type Entry, type GroupReader, outcomesOf, type Settlement, type StageCount } from './ports.ts'
import { giveUp, isolate, runStages, splitByIdentity } from './run-stages.ts'

interface StepWorkerOptions {
  readonly group: string
  readonly stages: readonly Stage[]
  readonly tools: StageTools
  /** One per partition. */
  readonly readers: readonly GroupReader[]
  /** After this many deliveries a block is split into single events. A single event is given up after twice as many. */
  readonly deliveriesMax: number
  readonly log: Logger
  /** Called once per round, with the number of events by outcome and the counts of each stage. */
  readonly onSettled?: (outcomes: ReadonlyMap<string, number>, stages: readonly StageCount[]) => void
}

const RETRY_DELAY = { minMs: 50, maxMs: 1_000 }
/** Bounds memory. Far more entries than are in work at once. */
const UNAVAILABLE_MAX = 10_000
/** After this many batch reads in a row, finishes all entries: only then it takes over entries that other consumers left. */
const AHEAD_MAX = 8
/** Another consumer must interfere between two of our calls each time. */
const CONTESTED_MAX = 5

/**
 * Runs one step of a pipeline: reads entries, runs the stages, then writes the results and acknowledges atomically. Partitions run
 * in parallel. An entry that fails for a passing reason stays pending and is read again.
 */
export class StepWorker implements Service {
  readonly name: string
  readonly #options: StepWorkerOptions
  readonly #loops: readonly Loop[]
  /** The work on batch entries that continues during the next read, and the number of such reads in a row. */
  readonly #finishing = new Map<GroupReader, { readonly end: Promise<unknown>; readonly reads: number }>()
  /** Entries that this process could not finish because a store was down. */
  readonly #unavailable = new Set<string>()
  #closed: Promise<unknown> | undefined

  constructor(options: StepWorkerOptions) {
    this.name = `step ${options.group}`
    this.#options = options
    this.#loops = options.readers.map((reader) => this.#loopOf(reader))
  }

  async start(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.start()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
    this.#closed ??= Promise.all(this.#options.readers.map((reader) => reader.close()))
    await this.#closed
  }

  #loopOf(reader: GroupReader): Loop {
    const { log, group } = this.#options
    return new Loop({
      name: `${this.name} ${reader.partition}`,
      // Entries still in work are pending too, so a recovery would read them again.
      enter: () => this.#settled(reader),
      round: (signal) => this.#round(reader, signal),
      leave: () => this.#settled(reader),
      failed: (err, delayMs) => {
        // Each further delivery would count against the entries.
        if (err instanceof NewerDataError) return throwLater(err)
        reader.recover()
        log.warn(
          { err, group, partition: reader.partition, delay_ms: Math.round(delayMs), ...PASSING },
          'step waits; its entries stay pending',
        )
      },
      delay: RETRY_DELAY,
    })
  }

  /**
   * Finishes batch entries while it reads the next ones, so that Redis and this process do not wait for each other. At most the
   * entries of two reads are in work. Live entries are finished before the next read.
   */
  async #round(reader: GroupReader, signal: AbortSignal): Promise<undefined> {
    const before = this.#finishing.get(reader)
    const { entries, broken } = await reader.next(before === undefined, signal)
    for (const entry of broken) {
      this.#options.log.error(
        { group: this.#options.group, ...entry },
        'entry is not a block; moved to the dead letters',
      )
      await reader.bury(entry)
    }
    const finished = this.#finishAll(reader, entries)
    const reads = (before?.reads ?? 0) + 1
    this.#finishing.set(reader, { end: Promise.allSettled([before?.end, finished]), reads })
    await before?.end
    const isBatch = entries.length > 0 && entries.every(({ lane }) => lane === 'batch')
    if (isBatch && reads < AHEAD_MAX) {
      this.#finishing.set(reader, { end: finished, reads })
    } else {
      await finished
      this.#finishing.delete(reader)
    }
  }

  async #settled(reader: GroupReader): Promise<void> {
    await this.#finishing.get(reader)?.end.catch(() => {})
    this.#finishing.delete(reader)
  }

  async #finishAll(reader: GroupReader, entries: readonly Entry[]): Promise<void> {
    const settled = new RoundSums()
    const results = await Promise.allSettled(entries.map((entry) => this.#finish(reader, entry, settled)))
    if (settled.outcomes.size > 0) this.#options.onSettled?.(settled.outcomes, settled.stages)
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async #finish(reader: GroupReader, entry: Entry, settled: RoundSums): Promise<void> {
    const name = `${entry.partition} ${entry.lane} ${entry.id}`
    let settlement: Settlement | undefined
    try {
      const hadToWait = this.#unavailable.has(name)
      settlement = await this.#process(entry, hadToWait)
      let result = await reader.settle(entry, settlement)
      for (let tries = 1; result === 'contested'; tries++) {
        if (tries === CONTESTED_MAX) throw new UnavailableError('another consumer works on the same entry')
        const again = { ...entry, repeated: true }
        settlement = await this.#process(again, hadToWait)
        result = await reader.settle(again, settlement)
      }
      if (result === 'written') settled.add(settlement)
      this.#unavailable.delete(name)
    } catch (error) {
      if (error instanceof SettledElsewhereError) {
        this.#unavailable.delete(name)
        return
      }
      const isStoreDown = settlement !== undefined || error instanceof UnavailableError
      if (isStoreDown && this.#unavailable.size < UNAVAILABLE_MAX) this.#unavailable.add(name)
      throw error
    }
  }

  /** @param hadToWait the entry came back because a store was down, so its number of deliveries proves nothing against it */
  async #process(entry: Entry, hadToWait: boolean): Promise<Settlement> {
    const { stages, tools, deliveriesMax } = this.#options
    const { block, deliveries } = entry
    if (hadToWait || deliveries <= deliveriesMax) return runStages(stages, block, entry, tools)
    const parts = splitByIdentity(block)
    if (parts.length > 1) return isolate(parts)
    if (deliveries <= 2 * deliveriesMax) return runStages(stages, block, entry, tools)
    return giveUp(block, deliveries)
  }
}

/** Sums up the results of a round, so that metrics cost once per round and not per entry. */
class RoundSums {
  readonly outcomes = new Map<string, number>()
  readonly #stages = new Map<string, { stage: string; in: number; out: number; dropped: Map<string, number> }>()

  get stages(): readonly StageCount[] {
    return [...this.#stages.values()]
  }

  add(settlement: Settlement): void {
    addAll(this.outcomes, outcomesOf(settlement))
    for (const { stage, dropped, ...passed } of settlement.stages ?? []) {
      let sum = this.#stages.get(stage)
      if (sum === undefined) {
        sum = { stage, in: 0, out: 0, dropped: new Map() }
        this.#stages.set(stage, sum)
      }
      sum.in += passed.in
      sum.out += passed.out
      addAll(sum.dropped, dropped)
    }
  }
}

function addAll(sums: Map<string, number>, more: ReadonlyMap<string, number>): void {
  for (const [name, events] of more) sums.set(name, (sums.get(name) ?? 0) + events)
}
