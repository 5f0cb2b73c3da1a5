import type { Logger } from 'pino'
import { type DelayBounds, Loop } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import type { Service } from '../../run/service.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { LANES } from '../declaration/lane.ts'
import { groupsOf, type Pipeline, readersOf, streamsOf } from '../declaration/pipeline.ts'
import { sweepSeen } from './seen-store.ts'

interface JanitorOptions {
  readonly client: RedisClient
  readonly pipeline: Pipeline
  readonly partitions: number
  readonly log: Logger
}

const TRIM_EVERY_MS = 500
const RETRY_DELAY: DelayBounds = { minMs: 500, maxMs: 5_000 }
/** After a round that trimmed nothing. */
const TRIM_IDLE_MS = 2_000
/** After several of these rounds in a row, until this process finishes an entry. */
const TRIM_REST_MS = 10_000
const REST_AFTER_ROUNDS = 5
const SWEEP_EVERY_MS = 60_000
const CONSUMER_IDLE_MS = 3_600_000

const trimScript = loadScript(import.meta.url, './trim-N.lua')
const deleteIdleConsumersScript = loadScript(import.meta.url, '../../stores/redis/deleteIdleConsumers-1.lua')

/**
 * Removes entries that every group has finished, consumers that are long gone, and ended generations of the dedup window. Any number
 * of janitors may run at once, because the scripts decide by the state of Redis alone.
 */
export class Janitor implements Service {
  readonly name = 'janitor'
  readonly #options: JanitorOptions
  readonly #loop = new Loop({
    name: this.name,
    round: () => this.#round(),
    failed: (error, delayMs) =>
      this.#options.log.warn({ err: error, delay_ms: Math.round(delayMs), ...PASSING }, 'trimming waits'),
    delay: RETRY_DELAY,
  })
  #sweepAtMs = Number.NEGATIVE_INFINITY
  /** Rounds in a row that trimmed nothing. */
  #emptyRounds = 0

  constructor(options: JanitorOptions) {
    this.#options = options
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** Call it when this process has finished an entry: there is something to remove. */
  finished(): void {
    if (this.#isAtRest) this.#loop.wake()
    this.#emptyRounds = 0
  }

  get #isAtRest(): boolean {
    return this.#emptyRounds > REST_AFTER_ROUNDS
  }

  async #round(): Promise<number> {
    const removed = await this.trim()
    this.#emptyRounds = removed > 0 ? 0 : this.#emptyRounds + 1
    if (performance.now() >= this.#sweepAtMs) {
      this.#sweepAtMs = performance.now() + SWEEP_EVERY_MS
      await this.#sweepSeen()
      await this.#deleteIdleConsumers()
    }
    if (removed > 0) return TRIM_EVERY_MS
    return this.#isAtRest ? TRIM_REST_MS : TRIM_IDLE_MS
  }

  /** Trims every stream once. Returns the number of entries removed. */
  async trim(): Promise<number> {
    const { client, pipeline, partitions } = this.#options
    const streams = streamsOf(pipeline).flatMap((stream) => LANES.map((lane) => ({ stream, lane })))
    const groups = streams.flatMap(({ stream }) => {
      const readers = readersOf(pipeline, stream)
      return [readers.length, ...readers]
    })
    const calls = Array.from({ length: partitions }, (_, partition) => {
      const ofPartition = streams.map(({ stream, lane }) => keys.stream(partition, stream, lane))
      return trimScript.run(client, ofPartition, groups)
    })
    const removed = await Promise.all(calls)
    return removed.reduce<number>((sum, entries) => sum + Number(entries), 0)
  }

  async #sweepSeen(): Promise<void> {
    const { client, partitions } = this.#options
    for (let partition = 0; partition < partitions; partition++) {
      while (await sweepSeen(client, partition, Date.now())) {}
    }
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
