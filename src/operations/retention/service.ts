import type { Logger } from 'pino'
import type { Clock } from '../../run/clock.ts'
import { type DelayBounds, Loop } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import type { Service } from '../../run/service.ts'
import { removesAnything } from './policy.ts'
import type { AgedStore, RetentionRecords } from './ports.ts'

interface RetentionOptions {
  readonly store: AgedStore
  readonly records: RetentionRecords
  readonly clock: Clock
  readonly log: Logger
  /** How often a store is checked, by all processes together, milliseconds. Default: an hour. */
  readonly everyMs?: number
}

const EVERY_MS = 3_600_000
/** How often a process asks for the turn. */
const ASK_EVERY_MS = 60_000
const RETRY_DELAY: DelayBounds = { minMs: 5_000, maxMs: 300_000 }

/**
 * Removes events from a store when they are older than the policy keeps. Any number of processes may run it: one has the
 * turn.
 */
export class Retention implements Service {
  readonly name: string
  readonly #options: RetentionOptions
  readonly #loop: Loop

  constructor(options: RetentionOptions) {
    this.name = `retention ${options.store.name}`
    this.#options = options
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        await this.#round()
        return Math.min(ASK_EVERY_MS, this.#everyMs)
      },
      failed: (err, delayMs) =>
        options.log.warn(
          { err, delay_ms: Math.round(delayMs), store: options.store.name, ...PASSING },
          'retention waits',
        ),
      delay: RETRY_DELAY,
    })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#options.store.close()
  }

  get #everyMs(): number {
    return this.#options.everyMs ?? EVERY_MS
  }

  async #round(): Promise<void> {
    const { store, records, clock, log } = this.#options
    const policy = await records.policy()
    if (!removesAnything(policy) || !(await records.take(store.name, this.#everyMs))) return
    const nowMs = clock.now()
    const startedMs = performance.now()
    let removed: number
    try {
      removed = await store.removeAged(policy, nowMs)
    } catch (error) {
      await records.giveBack(store.name)
      throw error
    }
    await records.note(store.name, nowMs, removed)
    if (removed > 0)
      log.info(
        { store: store.name, removed, seconds: Math.round(performance.now() - startedMs) / 1_000 },
        'removed expired events',
      )
  }
}
