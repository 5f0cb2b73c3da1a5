import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { LeaseLostError } from '../../run/errors.ts'
import type { Loop } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { LEASE_MS, placePrefix, renewalLoop, TRY_EVERY_MS } from '../../stores/redis/lease.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { layoutOf, SinkLayout } from './sink-layout.ts'

const shareOutScript = loadScript(import.meta.url, './shareOut-N.lua')
const writeAsOwnerScript = loadScript(import.meta.url, '../../stores/redis/writeAsOwner-2.lua')

/** What a sink asks of a lease: as `Lease` has it. */
export interface SinkLease {
  /** @param refused called between tries, while there is another owner, or sinks are divided in another way */
  acquire(signal: AbortSignal, refused: () => Promise<void>): Promise<boolean>
  /** Milliseconds for which it is ours even if we stand still; below 0 when it ran out. */
  leftMs(): number
  /** @throws LeaseLostError when it may be another's */
  assertHeld(): void
  /** See `Lease`; a share has none. */
  renew?(): Promise<void>
  write(key: string, value: string): Promise<void>
  release(): Promise<void>
}

export interface SinkSharesOptions {
  /** Leases are renewed, and notes of their owners written, in the order of this one connection. */
  readonly client: RedisClient
  readonly group: string
  /** How many there are, 2 or more. */
  readonly shares: number
  /** See `Lease`. */
  readonly place?: string | undefined
  readonly log: Logger
}

/** What this process has of a share. */
interface Holding {
  /** Its worker has no use for it, waits for it, or works on it. */
  use: 'none' | 'waits' | 'works'
  /** Its worker gives it back. */
  isGoing: boolean
  /** `performance.now()` at which the lease ends; 0: it is another's, or nobody's. */
  untilMs: number
}

/**
 * The shares of a sink that a process holds. Each is a lease of its own; they are renewed, and taken, in one call, which divides
 * them among the processes that ask: nobody takes more than its fair part, and who has more is told when a worker asks.
 */
export class SinkShares {
  readonly #options: SinkSharesOptions
  readonly #place: string
  readonly #owner: string
  readonly #keys: readonly string[]
  readonly #holdings: readonly Holding[]
  readonly #waiting = new Set<() => void>()
  readonly #layout: SinkLayout
  #fairPart = Number.POSITIVE_INFINITY
  /** Sinks are divided in another way: nobody gets any of these. */
  #isRefused = false
  #asking: Promise<void> = Promise.resolve()
  #adopting: Promise<void> | undefined
  #renewal: Loop | undefined

  constructor(options: SinkSharesOptions) {
    const { group, shares, place } = options
    this.#options = options
    this.#place = placePrefix(place)
    this.#owner = `${this.#place}${randomUUID()}`
    const numbers = Array.from({ length: shares }, (_, number) => number)
    this.#keys = [keys.lease(group), keys.sinkRoster(group), ...numbers.map((number) => keys.lease(group, number))]
    this.#holdings = numbers.map(() => ({ use: 'none', isGoing: false, untilMs: 0 }))
    this.#layout = new SinkLayout(options)
  }

  /** How many this process has now. */
  get held(): number {
    return this.#holdings.filter(({ untilMs }) => performance.now() < untilMs).length
  }

  share(number: number): SinkShare {
    const { client, group, shares: of } = this.#options
    const holding = this.#holdings[number]!
    const name = `${group}, share ${number} of ${of}`
    const leftMs = () => holding.untilMs - performance.now()
    const assertHeld = () => {
      if (leftMs() <= 0) throw new LeaseLostError(`the lease ${name} ran out`)
    }
    return {
      number,
      of,
      layout: this.#layout,
      acquire: (signal, refused) => this.#acquire(holding, signal, refused),
      leftMs,
      assertHeld,
      write: async (key, value) => {
        assertHeld()
        const written = await writeAsOwnerScript.run(client, [keys.lease(group, number), key], [this.#owner, value])
        if (written === 0) throw new LeaseLostError(`another one holds the lease ${name}`)
      },
      release: () => this.#release(holding, keys.lease(group, number)),
      givesBack: () => this.#givesBack(holding),
    }
  }

  async #acquire(holding: Holding, signal: AbortSignal, refused: () => Promise<void>): Promise<boolean> {
    holding.use = 'waits'
    await this.#startRenewal()
    await this.#ask()
    while (!signal.aborted) {
      if (performance.now() < holding.untilMs) {
        holding.use = 'works'
        return true
      }
      if (this.#isRefused) {
        await this.#adopt(refused)
        await this.#ask()
        if (!this.#isRefused) continue
      }
      await this.#nextAnswer(signal)
    }
    return false
  }

  /** One worker does for all what has to be done before there are these shares. */
  #adopt(refused: () => Promise<void>): Promise<void> {
    this.#adopting ??= refused().finally(() => {
      this.#adopting = undefined
    })
    return this.#adopting
  }

  /** A worker that has nothing in hand asks. True: the share is to go to another process. */
  #givesBack(holding: Holding): boolean {
    const staying = this.#holdings.filter(({ untilMs, isGoing }) => untilMs > 0 && !isGoing).length
    if (staying <= this.#fairPart) return false
    holding.isGoing = true
    return true
  }

  async #release(holding: Holding, key: string): Promise<void> {
    holding.use = 'none'
    // A renewal on its way would take what is given back.
    await this.#asking
    Object.assign(holding, { isGoing: false, untilMs: 0 })
    const { client, group } = this.#options
    try {
      await writeAsOwnerScript.run(client, [key, key], [this.#owner, ''])
    } finally {
      if (this.#isIdle()) {
        const renewal = this.#renewal
        this.#renewal = undefined
        await renewal?.stop()
      }
    }
    if (this.#isIdle()) await client.zrem(keys.sinkRoster(group), this.#owner)
  }

  #isIdle(): boolean {
    return this.#holdings.every(({ use }) => use === 'none')
  }

  async #startRenewal(): Promise<void> {
    this.#renewal ??= renewalLoop(`shares of ${this.#options.group}`, () => this.#ask(), TRY_EVERY_MS)
    await this.#renewal.start()
  }

  /** One call at a time: an answer tells of what was so behind the one before. */
  #ask(): Promise<void> {
    const answered = this.#asking.then(() => this.#askNow())
    this.#asking = answered.catch(() => {})
    return answered
  }

  async #askNow(): Promise<void> {
    if (this.#isIdle()) return
    const askedAtMs = performance.now()
    const uses = this.#holdings.map(({ use }) => use)
    const args = [layoutOf(this.#options.shares), this.#owner, LEASE_MS, this.#place, ...uses]
    const answer = (await shareOutScript.run(this.#options.client, this.#keys, args)) as number[] | null
    this.#isRefused = answer === null
    const [fairPart = 0, ...held] = answer ?? []
    this.#fairPart = fairPart
    for (const [number, holding] of this.#holdings.entries()) {
      holding.untilMs = held[number] === 1 ? askedAtMs + LEASE_MS : 0
    }
    for (const wake of [...this.#waiting]) wake()
  }

  #nextAnswer(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }
}

/** A part of the partitions: those whose number leaves `number` when it is divided by `of`. */
export interface SinkShare extends SinkLease {
  readonly number: number
  readonly of: number
  readonly layout: SinkLayout
  /** See `SinkSource`. */
  givesBack(): boolean
}
