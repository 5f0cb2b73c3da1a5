import type { Logger } from 'pino'
import type { Pipeline } from '../../core/pipeline/pipeline.ts'
import type { Service } from '../../core/run/service.ts'
import { type DelayBounds, Loop } from '../../runner/loop.ts'
import type { RedisClient } from '../connect.ts'
import { waitingEvents } from './status.ts'

export interface IntakeGateOptions {
  readonly client: RedisClient
  readonly pipeline: Pipeline
  readonly partitions: number
  /** High water: with more events in the pipeline, intake is closed. */
  readonly waitingEventsMax: number
  readonly log: Logger
}

const CHECK_EVERY_MS = 500
const RETRY_DELAY: DelayBounds = { minMs: 500, maxMs: 1_000 }

/** Share of Redis' `maxmemory` that intake may fill; the workers need the rest to write what they finish. */
const MEMORY_SHARE_MAX = 0.85

/** Closes intake while more waits than the pipeline, or Redis' memory, should hold. */
export class IntakeGate implements Service {
  readonly name = 'intake gate'
  readonly #options: IntakeGateOptions
  readonly #loop = new Loop({
    name: this.name,
    round: () => this.#round(),
    // A Redis that does not answer refuses the write by itself, so the last verdict stays.
    failed: (error) => this.#options.log.debug({ err: error }, 'intake stays as it is'),
    delay: RETRY_DELAY,
  })
  #reason: string | undefined

  constructor(options: IntakeGateOptions) {
    this.#options = options
  }

  /** Why intake is closed; undefined while it is open. */
  get closedBecause(): string | undefined {
    return this.#reason
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #round(): Promise<number> {
    const reason = await this.#check()
    if (reason !== this.#reason)
      this.#options.log.warn({ reason }, reason ? 'intake is closed' : 'intake is open again')
    this.#reason = reason
    return CHECK_EVERY_MS
  }

  async #check(): Promise<string | undefined> {
    const { client, pipeline, partitions, waitingEventsMax } = this.#options
    const waiting = await waitingEvents(client, pipeline, partitions)
    if (waiting > waitingEventsMax) return `${waiting} events wait to be processed, more than ${waitingEventsMax}`
    const nodes = 'nodes' in client ? client.nodes('master') : [client]
    for (const node of nodes) {
      const memory = await node.info('memory')
      const used = Number(/^used_memory:(\d+)/m.exec(memory)?.[1] ?? 0)
      const max = Number(/^maxmemory:(\d+)/m.exec(memory)?.[1] ?? 0)
      if (max > 0 && used > max * MEMORY_SHARE_MAX) return `the event store uses ${used} of ${max} bytes of memory`
    }
    return undefined
  }
}
