import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Stage } from '../core/pipeline/stage.ts'
import type { Service } from '../core/run/service.ts'
import type { Commit, Entry, GroupReader } from './ports.ts'
import { giveUp, isolate, runStages } from './run-stages.ts'

export interface SegmentWorkerOptions {
  readonly group: string
  readonly stages: readonly Stage[]
  /** One per partition. */
  readonly readers: readonly GroupReader[]
  /** Deliveries after which a block is taken apart, and a single event given up. */
  readonly deliveriesMax: number
  readonly log: Logger
  /** Called for every entry that is finished, with the number of events by outcome. */
  readonly onFinished?: (outcomes: ReadonlyMap<string, number>) => void
}

const RETRY_DELAY_MIN_MS = 50
const RETRY_DELAY_MAX_MS = 1_000
/** Far more than are in hand at once. */
const UNAVAILABLE_MAX = 10_000

/**
 * Runs one segment of a pipeline: read, stages, then write and acknowledge as one. Partitions run side by side. An entry
 * that fails for a reason that may pass stays pending and is read again.
 */
export class SegmentWorker implements Service {
  readonly name: string
  readonly #options: SegmentWorkerOptions
  readonly #stopping = new AbortController()
  #loops: Promise<void>[] = []
  /** Entries that this process could not finish because a store was away. */
  readonly #unavailable = new Set<string>()

  constructor(options: SegmentWorkerOptions) {
    this.name = `segment ${options.group}`
    this.#options = options
  }

  async start(): Promise<void> {
    this.#loops = this.#options.readers.map((reader) => this.#loop(reader))
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#loops)
    await Promise.all(this.#options.readers.map((reader) => reader.close()))
  }

  async #loop(reader: GroupReader): Promise<void> {
    const { log, group } = this.#options
    let failures = 0
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#round(reader)
        failures = 0
      } catch (error) {
        if (this.#stopping.signal.aborted) return
        reader.recover()
        const delayMs = Math.min(RETRY_DELAY_MIN_MS * 2 ** failures++, RETRY_DELAY_MAX_MS)
        log.warn({ err: error, group, partition: reader.partition, delayMs }, 'segment waits; its entries stay pending')
        await sleep(delayMs, undefined, { signal: this.#stopping.signal }).catch(() => {})
      }
    }
  }

  async #round(reader: GroupReader): Promise<void> {
    const { entries, broken } = await reader.next()
    for (const entry of broken) {
      this.#options.log.error({ group: this.#options.group, ...entry }, 'entry is no block; moved to the dead letters')
      await reader.bury(entry)
    }
    const results = await Promise.allSettled(entries.map((entry) => this.#finish(reader, entry)))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async #finish(reader: GroupReader, entry: Entry): Promise<void> {
    const name = `${entry.partition} ${entry.lane} ${entry.id}`
    try {
      const commit = await this.#process(entry, this.#unavailable.has(name))
      if (await reader.commit(entry, commit)) this.#options.onFinished?.(commit.outcomes)
      this.#unavailable.delete(name)
    } catch (error) {
      if (this.#unavailable.size < UNAVAILABLE_MAX) this.#unavailable.add(name)
      throw error
    }
  }

  /**
   * @param waited whether the entry came back because a store was away. That counts deliveries too, but says nothing of
   * the entry: what ends a process never gets here.
   */
  async #process(entry: Entry, waited: boolean): Promise<Commit> {
    const { stages, deliveriesMax } = this.#options
    const { block, deliveries } = entry
    if (waited || deliveries <= deliveriesMax) return runStages(stages, block, entry)
    if (block.count > 1) return isolate(block)
    if (deliveries <= 2 * deliveriesMax) return runStages(stages, block, entry)
    return giveUp(block, deliveries)
  }
}
