import type { Logger } from 'pino'
import type { Clock } from '../core/run/clock.ts'
import type { Service } from '../core/run/service.ts'
import { Loop } from '../runner/loop.ts'
import type { CallerStore } from './stores.ts'

export interface KeyUsesOptions {
  readonly store: Pick<CallerStore, 'recordUses'>
  readonly clock: Clock
  readonly log: Logger
  /** How often what was noted is written, milliseconds. Default 1,000. */
  readonly flushEveryMs?: number
}

/** A key's time of use is written at most this often. */
export const USE_WRITE_EVERY_MS = 60_000
/** Keys that are noted between two writes, and remembered as written. */
const KEYS_MAX = 20_000

const FLUSH_EVERY_MS = 1_000
/** While there is nothing to write: what is noted then is written at once. */
const REST_MS = 60_000
const RETRY_DELAY_MAX_MS = 10_000

/** Collects when keys were used and writes it in the background. */
export class KeyUses implements Service {
  readonly name = 'key uses'
  readonly #options: KeyUsesOptions
  readonly #pending = new Map<string, number>()
  readonly #writtenMs = new Map<string, number>()
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

  /** Notes a use. Costs a look into a map; what is beyond the limit waits for its next use. */
  note(keyHash: string, nowMs: number): void {
    const written = this.#writtenMs.get(keyHash)
    if (written !== undefined && nowMs - written < USE_WRITE_EVERY_MS) return
    if (this.#pending.size < KEYS_MAX || this.#pending.has(keyHash)) this.#pending.set(keyHash, nowMs)
    if (this.#isAtRest) this.#goOn()
  }

  #goOn(): void {
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
    const nowMs = this.#options.clock.now()
    for (const [keyHash, writtenMs] of this.#writtenMs) {
      if (nowMs - writtenMs >= USE_WRITE_EVERY_MS) this.#writtenMs.delete(keyHash)
    }
    try {
      await this.#options.store.recordUses(uses, USE_WRITE_EVERY_MS)
    } catch (error) {
      for (const [keyHash, usedMs] of uses) if (!this.#pending.has(keyHash)) this.#pending.set(keyHash, usedMs)
      throw error
    }
    for (const keyHash of uses.keys()) if (this.#writtenMs.size < KEYS_MAX) this.#writtenMs.set(keyHash, nowMs)
  }
}
