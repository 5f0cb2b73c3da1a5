import type { Clock } from '../../run/clock.ts'
import type { InsertStatus, LastMinute } from './system-status.ts'

const MINUTE_MS = 60_000
const SLOT_MS = 5_000
const SLOTS = 12

/** Sums of the last minute by name. Slots of 5 s: a value counts for 55 to 60 s. */
export class MinuteSums {
  readonly #clock: Clock
  readonly #slots = Array.from({ length: SLOTS }, () => ({ number: -1, sums: new Map<string, number>() }))

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(name: string, amount: number): void {
    const { sums } = this.#slot()
    sums.set(name, (sums.get(name) ?? 0) + amount)
  }

  /** Keeps the largest value instead of a sum. */
  top(name: string, value: number): void {
    const { sums } = this.#slot()
    sums.set(name, Math.max(sums.get(name) ?? 0, value))
  }

  sum(name: string): number {
    return this.#values(name).reduce((total, value) => total + value, 0)
  }

  max(name: string): number {
    return Math.max(0, ...this.#values(name))
  }

  #slot(): { sums: Map<string, number> } {
    const number = Math.floor(this.#clock.now() / SLOT_MS)
    const slot = this.#slots[number % SLOTS]!
    if (slot.number !== number) {
      slot.number = number
      slot.sums.clear()
    }
    return slot
  }

  #values(name: string): number[] {
    const newest = Math.floor(this.#clock.now() / SLOT_MS)
    return this.#slots.flatMap(({ number, sums }) => {
      const value = sums.get(name)
      return value === undefined || number <= newest - SLOTS || number > newest ? [] : [value]
    })
  }
}

/** Counts the work of this process in the last minute. */
export class RecentWork {
  readonly #minute: MinuteSums
  /** Groups that have inserted or tried to. */
  readonly #groups = new Set<string>()
  readonly #clock: Clock
  /** By group. */
  readonly #refusals = new Map<string, { readonly kind: string; readonly atMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#minute = new MinuteSums(clock)
  }

  did(what: keyof LastMinute, amount: number): void {
    if (amount > 0) this.#minute.add(what, amount)
  }

  inserted(group: string, rows: number, durationMs: number): void {
    this.#groups.add(group)
    this.#minute.add(`${group} inserts`, 1)
    this.#minute.add(`${group} rows`, rows)
    this.#minute.add(`${group} ms`, durationMs)
    this.#minute.top(`${group} max`, durationMs)
  }

  insertFailed(group: string): void {
    this.#groups.add(group)
    this.#minute.add(`${group} failures`, 1)
  }

  /** @param rows that became dead letters; 0: they are tried again */
  refused(group: string, rows: number, kind: string): void {
    this.#groups.add(group)
    this.#minute.add(`${group} refused`, rows)
    this.#refusals.set(group, { kind, atMs: this.#clock.now() })
  }

  lastMinute(): Partial<LastMinute> {
    const names = [
      'live_events',
      'batch_lines',
      'processed',
      'stored',
      'dead',
      'requests',
      'refused',
      'failed',
    ] as const
    return Object.fromEntries(names.map((name) => [name, this.#minute.sum(name)]))
  }

  inserts(): InsertStatus[] {
    return [...this.#groups].map((group) => {
      const inserts = this.#minute.sum(`${group} inserts`)
      return {
        ...{ group, inserts, rows: this.#minute.sum(`${group} rows`), failures: this.#minute.sum(`${group} failures`) },
        avg_ms: inserts === 0 ? 0 : Math.round(this.#minute.sum(`${group} ms`) / inserts),
        refused: this.#minute.sum(`${group} refused`),
        refusal: this.#refusalOf(group),
        max_ms: Math.round(this.#minute.max(`${group} max`)),
      }
    })
  }

  #refusalOf(group: string): string | null {
    const last = this.#refusals.get(group)
    return last !== undefined && this.#clock.now() - last.atMs < MINUTE_MS ? last.kind : null
  }
}
