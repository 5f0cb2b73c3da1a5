import type { Logger } from 'pino'
import { UnavailableError } from '../../run/errors.ts'
import { Loop } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import type { Service } from '../../run/service.ts'
import { SettledElsewhereError, type Stage, type StageTools } from '../declaration/stage.ts'
import { type Entry, type GroupReader, outcomesOf, type Settlement, type StageCount } from './ports.ts'
import { giveUp, isolate, runStages, splitByIdentity } from './run-stages.ts'

export interface StepWorkerOptions {
  readonly group: string
  readonly stages: readonly Stage[]
  readonly tools: StageTools
  /** One per partition. */
  readonly readers: readonly GroupReader[]
  /** Deliveries after which a block is taken apart; a single event is given up after twice as many. */
  readonly deliveriesMax: number
  readonly log: Logger
  /** Called for the entries that are settled in one round, with the number of events by outcome, and what passed each stage. */
  readonly onSettled?: (outcomes: ReadonlyMap<string, number>, stages: readonly StageCount[]) => void
}

const RETRY_DELAY = { minMs: 50, maxMs: 1_000 }
/** Far more than are in hand at once. */
const UNAVAILABLE_MAX = 10_000
/** Behind so many reads of batch entries in a row nothing is in hand: what others left is looked for only then. */
const AHEAD_MAX = 8
/** Each time another consumer must have claimed something between two steps of ours. */
const CONTESTED_MAX = 5

/**
 * Runs one step of a pipeline: read, stages, then write and acknowledge as one. Partitions run side by side. An entry
 * that fails for a reason that may pass stays pending and is read again.
 */
export class StepWorker implements Service {
  readonly name: string
  readonly #options: StepWorkerOptions
  readonly #loops: readonly Loop[]
  /** Batch entries that are being finished while the next ones are read, and behind how many reads in a row some are. */
  readonly #finishing = new Map<GroupReader, { readonly end: Promise<unknown>; readonly reads: number }>()
  /** Entries that this process tried and could not finish: a store was away. */
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
      // What is still being finished is pending, too, and would be read again.
      enter: () => this.#settled(reader),
      round: (signal) => this.#round(reader, signal),
      leave: () => this.#settled(reader),
      failed: (err, delayMs) => {
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
   * Batch entries are finished while the next ones are read, so that Redis and this process need not wait for each other; of a
   * partition those of two reads are in hand at most. Live entries come when they come, and are finished before the next read.
   */
  async #round(reader: GroupReader, signal: AbortSignal): Promise<undefined> {
    const before = this.#finishing.get(reader)
    const { entries, broken } = await reader.next(before === undefined, signal)
    for (const entry of broken) {
      this.#options.log.error({ group: this.#options.group, ...entry }, 'entry is no block; moved to the dead letters')
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
      const waited = this.#unavailable.has(name)
      settlement = await this.#process(entry, waited)
      let result = await reader.settle(entry, settlement)
      for (let tries = 1; result === 'contested'; tries++) {
        if (tries === CONTESTED_MAX) throw new UnavailableError('another consumer works on the entry, too')
        const again = { ...entry, repeated: true }
        settlement = await this.#process(again, waited)
        result = await reader.settle(again, settlement)
      }
      if (result === 'written') settled.add(settlement)
      this.#unavailable.delete(name)
    } catch (error) {
      if (error instanceof SettledElsewhereError) {
        this.#unavailable.delete(name)
        return
      }
      const isAway = settlement !== undefined || error instanceof UnavailableError
      if (isAway && this.#unavailable.size < UNAVAILABLE_MAX) this.#unavailable.add(name)
      throw error
    }
  }

  /**
   * @param waited whether the entry came back because a store was away. That counts deliveries too, but says nothing of
   * the entry: what ends a process never gets here.
   */
  async #process(entry: Entry, waited: boolean): Promise<Settlement> {
    const { stages, tools, deliveriesMax } = this.#options
    const { block, deliveries } = entry
    if (waited || deliveries <= deliveriesMax) return runStages(stages, block, entry, tools)
    const parts = splitByIdentity(block)
    if (parts.length > 1) return isolate(parts)
    if (deliveries <= 2 * deliveriesMax) return runStages(stages, block, entry, tools)
    return giveUp(block, deliveries)
  }
}

/** Sums of what became of the entries of a round, so that metrics cost once per round and not per entry. */
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
