import type { Logger } from 'pino'
import { Loop } from '../run/loop.ts'
import type { Service } from '../run/service.ts'
import type { CallerStore } from './stores.ts'

export interface KeyUsesOptions {
  readonly store: Pick<CallerStore, 'recordUses'>
  readonly log: Logger
  /** Time between writes, milliseconds. Default 1,000. */
  readonly flushEveryMs?: number
}

/** Maximum number of keys noted between two writes. */
const KEYS_MAX = 20_000

/** A key in use costs one update per second, however many requests it makes. Listed times are at most this late. */
const FLUSH_EVERY_MS = 1_000
/** Pause while there is nothing to write. The next use ends it. */
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

  /** Notes a use. Beyond the limit, ignores a key until its next use. */
  note(keyHash: string, nowMs: number): void {
    if (this.#pending.size < KEYS_MAX || this.#pending.has(keyHash)) this.#pending.set(keyHash, nowMs)
    if (this.#isAtRest) this.#wake()
  }

  #wake(): void {
    this.#isAtRest = false
    this.#loop.wake()
  }

  /** Writes noted uses. Never rejects: a failed write is tried again. */
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
    this.#options.log.debug({ err: error }, 'writing key uses failed; trying again later')
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
