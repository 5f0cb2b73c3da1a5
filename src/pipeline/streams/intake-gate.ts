import type { Logger } from 'pino'
import { type DelayBounds, Loop } from '../../run/loop.ts'
import type { Service } from '../../run/service.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { INTAKE_MEMORY_SHARE_MAX, type Pipeline } from '../declaration/pipeline.ts'
import { waitingEvents } from './status.ts'

interface IntakeGateOptions {
  readonly client: RedisClient
  readonly pipeline: Pipeline
  readonly partitions: number
  /** High water: intake closes above this number of events in the pipeline. */
  readonly waitingEventsMax: number
  readonly log: Logger
}

const CHECK_EVERY_MS = 500
/** While intake is open and idle. The next request triggers a check at once. */
const CHECK_IDLE_MS = 10_000
const RETRY_DELAY: DelayBounds = { minMs: 500, maxMs: 1_000 }

/** A backlog of the archive may take this share of high water, and of `maxmemory`. */
const ARCHIVE_EVENTS_SHARE = 0.5
const ARCHIVE_MEMORY_SHARE = 0.65

/** Why intake is closed; undefined while it is open. */
interface Verdict {
  readonly all: string | undefined
  readonly archived: string | undefined
}

/**
 * Closes intake while too many events wait, or Redis' memory is nearly full. A backlog of the archive closes intake for tenants with an
 * archive first, so that a failure of object storage does not affect the others.
 */
export class IntakeGate implements Service {
  readonly name = 'intake gate'
  readonly #options: IntakeGateOptions
  readonly #loop = new Loop({
    name: this.name,
    round: () => this.#round(),
    // Keeps the last verdict: while Redis does not answer, writes fail anyway.
    failed: (error) => this.#options.log.debug({ err: error }, 'the check of intake failed; it stays as it is'),
    delay: RETRY_DELAY,
  })
  #verdict: Verdict = { all: undefined, archived: undefined }
  #isInUse = false
  #isAtRest = false

  constructor(options: IntakeGateOptions) {
    this.#options = options
  }

  /**
   * Why intake is closed; undefined while it is open.
   * @param archived whether the tenant has an archive
   */
  closedBecause(archived: boolean): string | undefined {
    this.#isInUse = true
    if (this.#isAtRest) this.#wake()
    const { all, archived: forArchived } = this.#verdict
    return all ?? (archived ? forArchived : undefined)
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #round(): Promise<number> {
    const verdict = await this.#check()
    for (const scope of ['all', 'archived'] as const) {
      const reason = verdict[scope]
      if (reason === this.#verdict[scope]) continue
      const text = `intake is ${reason ? 'closed' : 'open again'}${scope === 'all' ? '' : ' for tenants with an archive'}`
      this.#options.log.warn({ reason }, text)
    }
    this.#verdict = verdict
    this.#isAtRest = !this.#isInUse && verdict.all === undefined && verdict.archived === undefined
    this.#isInUse = false
    return this.#isAtRest ? CHECK_IDLE_MS : CHECK_EVERY_MS
  }

  #wake(): void {
    this.#isAtRest = false
    this.#loop.wake()
  }

  async #check(): Promise<Verdict> {
    const { client, pipeline, partitions, waitingEventsMax } = this.#options
    const waiting = await waitingEvents(client, pipeline, partitions)
    const { share, text } = await this.#memory()
    const tooMany =
      waiting > waitingEventsMax ? `${waiting} events wait to be processed, more than ${waitingEventsMax}` : undefined
    const all = tooMany ?? (share > INTAKE_MEMORY_SHARE_MAX ? text : undefined)
    const payloadsMax = waitingEventsMax * ARCHIVE_EVENTS_SHARE
    if (waiting <= payloadsMax && share <= ARCHIVE_MEMORY_SHARE) return { all, archived: undefined }
    const groups = pipeline.sinks.filter(({ takes }) => takes === 'payloads').map(({ group }) => group)
    const payloads = await waitingEvents(client, pipeline, partitions, { groups })
    const isCause = payloads > payloadsMax || (share > ARCHIVE_MEMORY_SHARE && payloads > waiting / 2)
    return { all, archived: isCause ? 'too many events wait for the archive' : undefined }
  }

  /** The share of `maxmemory` that the fullest Redis node uses. */
  async #memory(): Promise<{ readonly share: number; readonly text: string }> {
    const { client } = this.#options
    let fullest = { share: 0, text: '' }
    const nodes = 'nodes' in client ? client.nodes('master') : [client]
    for (const node of nodes) {
      const memory = await node.info('memory')
      const used = Number(/^used_memory:(\d+)/m.exec(memory)?.[1] ?? 0)
      const max = Number(/^maxmemory:(\d+)/m.exec(memory)?.[1] ?? 0)
      const share = max > 0 ? used / max : 0
      if (share > fullest.share) fullest = { share, text: `the event store uses ${used} of ${max} bytes of memory` }
    }
    return fullest
  }
}
