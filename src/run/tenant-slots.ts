import { BackpressureError } from './errors.ts'

export interface SlotLimits {
  /** Slots that one tenant may hold at a time. */
  readonly ofTenant: number
  /** Slots of all tenants together. */
  readonly all: number
  /** How many calls of one tenant may wait, each at most `waitMaxMs`; 0: refuse at once when no slot is free. */
  readonly waitingOfTenant: number
  readonly waitMaxMs: number
  /** The message of a refusal, and the seconds after which to try again. */
  readonly refusal: string
  readonly retrySeconds: number
  /** Names the limit of a refusal. Default: `questions`. */
  readonly limit?: BackpressureError['limit']
}

interface Line {
  held: number
  readonly waiting: (() => void)[]
}

/**
 * Limits concurrent work on a shared resource, fairly: a free slot goes to the waiting tenant that holds the fewest slots,
 * however long its line is.
 */
export class TenantSlots {
  readonly #limits: SlotLimits
  /** Tenants that hold a slot or wait for one. The tenant served last is moved to the end. */
  readonly #lines = new Map<string, Line>()
  #held = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /**
   * Runs `work` in a slot.
   * @param left ends the wait for a slot, with its reason
   * @throws BackpressureError when no slot is free in time, or too many calls wait
   */
  async run<T>(tenantId: string, work: () => Promise<T>, left?: AbortSignal): Promise<T> {
    await this.#take(tenantId, left)
    try {
      return await work()
    } finally {
      this.#giveBack(tenantId)
    }
  }

  /** Yields pieces while holding a slot from before the first piece to the last. Throws as `run` does. */
  async *pass<T>(tenantId: string, pieces: AsyncIterable<T>): AsyncGenerator<T> {
    await this.#take(tenantId)
    try {
      yield* pieces
    } finally {
      this.#giveBack(tenantId)
    }
  }

  async #take(tenantId: string, left?: AbortSignal): Promise<void> {
    left?.throwIfAborted()
    const { ofTenant, all, waitingOfTenant } = this.#limits
    const line = this.#lines.get(tenantId) ?? { held: 0, waiting: [] }
    if (this.#held < all && line.held < ofTenant) {
      this.#grant(tenantId, line)
      return
    }
    if (line.waiting.length >= waitingOfTenant) throw this.#refusal()
    this.#lines.set(tenantId, line)
    await this.#wait(tenantId, line, left)
  }

  #wait(tenantId: string, { waiting }: Line, left: AbortSignal | undefined): Promise<void> {
    const { waitMaxMs } = this.#limits
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        left?.removeEventListener('abort', leave)
      }
      const begin = () => {
        end()
        resolve()
      }
      const refuse = (reason: Error) => {
        end()
        waiting.splice(waiting.indexOf(begin), 1)
        this.#forget(tenantId)
        reject(reason)
      }
      const leave = () => refuse(left!.reason)
      const timer = setTimeout(() => refuse(this.#refusal()), waitMaxMs)
      left?.addEventListener('abort', leave)
      waiting.push(begin)
    })
  }

  #refusal(): BackpressureError {
    const { refusal, retrySeconds, limit = 'questions' } = this.#limits
    return new BackpressureError(refusal, retrySeconds, limit)
  }

  #grant(tenantId: string, line: Line): void {
    line.held++
    this.#held++
    this.#lines.delete(tenantId)
    this.#lines.set(tenantId, line)
  }

  #giveBack(tenantId: string): void {
    this.#lines.get(tenantId)!.held--
    this.#held--
    this.#forget(tenantId)
    const next = this.#next()
    if (next === undefined) return
    const [id, line] = next
    this.#grant(id, line)
    line.waiting.shift()!()
  }

  /** The waiting tenant with the fewest slots; among equals, the one that was served longest ago. */
  #next(): readonly [tenantId: string, line: Line] | undefined {
    let next: readonly [string, Line] | undefined
    for (const [id, line] of this.#lines) {
      if (line.waiting.length === 0 || line.held >= this.#limits.ofTenant) continue
      if (next === undefined || line.held < next[1].held) next = [id, line]
    }
    return next
  }

  #forget(tenantId: string): void {
    const line = this.#lines.get(tenantId)
    if (line?.held === 0 && line.waiting.length === 0) this.#lines.delete(tenantId)
  }
}
