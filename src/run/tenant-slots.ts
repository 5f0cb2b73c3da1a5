import { BackpressureError } from './errors.ts'

export interface SlotLimits {
  /** At a time. */
  readonly ofTenant: number
  /** At a time, of all tenants together. */
  readonly all: number
  /** So many of a tenant wait in line, and no longer than `waitMaxMs`; 0: what finds no slot is refused. */
  readonly waitingOfTenant: number
  readonly waitMaxMs: number
  /** What is refused is told this, and to try again after so many seconds. */
  readonly refusal: string
  readonly retrySeconds: number
}

interface Line {
  held: number
  readonly waiting: (() => void)[]
}

/** Slots for what tenants do on something they share. One that comes free goes to who holds the fewest, however long the lines are. */
export class TenantSlots {
  readonly #limits: SlotLimits
  /** Of tenants that hold a slot or wait for one; who was given one last comes last. */
  readonly #lines = new Map<string, Line>()
  #held = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /** Does something in a slot. @throws BackpressureError when there is none in time, or too many wait */
  async run<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    await this.#take(tenantId)
    try {
      return await work()
    } finally {
      this.#giveBack(tenantId)
    }
  }

  /** Passes pieces on, in a slot from before the first of them to their end. Throws as `run` does. */
  async *pass<T>(tenantId: string, pieces: AsyncIterable<T>): AsyncGenerator<T> {
    await this.#take(tenantId)
    try {
      yield* pieces
    } finally {
      this.#giveBack(tenantId)
    }
  }

  async #take(tenantId: string): Promise<void> {
    const { ofTenant, all, waitingOfTenant, refusal, retrySeconds } = this.#limits
    const line = this.#lines.get(tenantId) ?? { held: 0, waiting: [] }
    if (this.#held < all && line.held < ofTenant) {
      this.#grant(tenantId, line)
      return
    }
    if (line.waiting.length >= waitingOfTenant) throw new BackpressureError(refusal, retrySeconds, 'questions')
    this.#lines.set(tenantId, line)
    await this.#wait(tenantId, line)
  }

  #wait(tenantId: string, { waiting }: Line): Promise<void> {
    const { waitMaxMs, refusal, retrySeconds } = this.#limits
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(begin), 1)
        this.#forget(tenantId)
        reject(new BackpressureError(refusal, retrySeconds, 'questions'))
      }, waitMaxMs)
      waiting.push(begin)
    })
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

  /** Of tenants with something in line, the one that holds the fewest slots; of those, the one that waits for its turn longest. */
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
