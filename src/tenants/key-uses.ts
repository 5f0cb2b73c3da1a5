import type { Logger } from 'pino'
import { Loop } from '../run/loop.ts'
import type { Service } from '../run/service.ts'
import type { CallerStore } from './stores.ts'

export interface KeyUsesOptions {
  readonly store: Pick<CallerStore, 'recordUses'>
  readonly log: Logger
  /** How often what was noted is written, milliseconds. Default 1,000. */
  readonly flushEveryMs?: number
}

/** Keys that are noted between two writes. */
const KEYS_MAX = 20_000

/** Costs a key in use one time in a script a second, however many requests it makes; what is listed is that late at most. */
const FLUSH_EVERY_MS = 1_000
/** While there is nothing to write: what is noted then is written at once. */
const REST_MS = 60_000
const RETRY_DELAY_MAX_MS = 10_000

/** Collects when keys were used and writes it in the background. */
export class KeyUses implements Service {
  readonly name = 'key uses'
  readonly #options: KeyUsesOptions
  readonly #pending = new Map<string, number>()
  readonly #loop: Loop
  #writing: Promise<void> | undefined
  #isAtRest = false

  constructor(options: KeyUsesOptions) {
    this.#options = options
    const flushEveryMs = options.flushEveryMs ?? FLUSH_EVERY_MS
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        this.#isAtRest = this.#pending.size === 0
        await this.#flush()
        return this.#isAtRest ? REST_MS : flushEveryMs
      },
      failed: (error) => this.#postponed(error),
      delay: { minMs: flushEveryMs, maxMs: Math.max(flushEveryMs, RETRY_DELAY_MAX_MS) },
    })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.flush()
  }

  /** Notes a use. Costs a place in a map; a key beyond the limit waits for its next use. */
  note(keyHash: string, nowMs: number): void {
    if (this.#pending.size < KEYS_MAX || this.#pending.has(keyHash)) this.#pending.set(keyHash, nowMs)
    if (this.#isAtRest) this.#wake()
  }

  #wake(): void {
    this.#isAtRest = false
    this.#loop.wake()
  }

  /** Writes what is noted. Never rejects: what could not be written is tried again. */
  async flush(): Promise<void> {
    await this.#flush().catch((error) => this.#postponed(error))
  }

  async #flush(): Promise<void> {
    await this.#writing?.catch(() => {})
    if (this.#pending.size === 0) return
    this.#writing = this.#write(new Map(this.#pending)).finally(() => {
      this.#writing = undefined
    })
    await this.#writing
  }

  #postponed(error: unknown): void {
    this.#options.log.debug({ err: error }, 'times of key use are written later')
  }

  async #write(uses: ReadonlyMap<string, number>): Promise<void> {
    this.#pending.clear()
    try {
      await this.#options.store.recordUses(uses)
    } catch (error) {
      for (const [keyHash, usedMs] of uses) if (!this.#pending.has(keyHash)) this.#pending.set(keyHash, usedMs)
      throw error
    }
  }
}
