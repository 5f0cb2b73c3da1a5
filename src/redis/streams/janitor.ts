import type { Logger } from 'pino'
import { LANES } from '../../core/pipeline/lane.ts'
import { groupsOf, type Pipeline, readersOf, streamsOf } from '../../core/pipeline/pipeline.ts'
import { Repeater } from '../../core/run/repeater.ts'
import type { Service } from '../../core/run/service.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'

export interface JanitorOptions {
  readonly client: RedisClient
  readonly pipeline: Pipeline
  readonly partitions: number
  readonly log: Logger
}

const TRIM_EVERY_MS = 500
const CONSUMERS_EVERY_MS = 60_000
const CONSUMER_IDLE_MS = 3_600_000

const trimScript = loadScript('trim-1')
const deleteIdleConsumersScript = loadScript('deleteIdleConsumers-1')

/**
 * Frees what every group has finished, and forgets consumers that are long gone. Any number of janitors may run: the
 * scripts decide by what is true in Redis when they run.
 */
export class Janitor implements Service {
  readonly name = 'janitor'
  readonly #options: JanitorOptions
  readonly #repeater = new Repeater(this.name, TRIM_EVERY_MS, () => this.#round())
  #consumersAt = 0

  constructor(options: JanitorOptions) {
    this.#options = options
  }

  start(): Promise<void> {
    return this.#repeater.start()
  }

  stop(): Promise<void> {
    return this.#repeater.stop()
  }

  async #round(): Promise<void> {
    try {
      await this.trim()
      if (Date.now() >= this.#consumersAt) {
        this.#consumersAt = Date.now() + CONSUMERS_EVERY_MS
        await this.#deleteIdleConsumers()
      }
    } catch (error) {
      this.#options.log.warn({ err: error }, 'trimming waits')
    }
  }

  /** Trims every stream once. Returns the number of entries removed. */
  async trim(): Promise<number> {
    const { client, pipeline, partitions } = this.#options
    const calls: Promise<unknown>[] = []
    for (let partition = 0; partition < partitions; partition++) {
      for (const stream of streamsOf(pipeline)) {
        const groups = readersOf(pipeline, stream)
        for (const lane of LANES) calls.push(trimScript.run(client, [keys.stream(partition, stream, lane)], groups))
      }
    }
    const removed = await Promise.all(calls)
    return removed.reduce<number>((sum, entries) => sum + Number(entries), 0)
  }

  async #deleteIdleConsumers(): Promise<void> {
    const { client, pipeline, partitions } = this.#options
    for (let partition = 0; partition < partitions; partition++) {
      for (const { from, group } of groupsOf(pipeline)) {
        for (const lane of LANES) {
          const stream = keys.stream(partition, from, lane)
          await deleteIdleConsumersScript.run(client, [stream], [group, CONSUMER_IDLE_MS])
        }
      }
    }
  }
}
