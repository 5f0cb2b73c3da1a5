import type { LiveEvent, LiveReport, LiveStatus, LiveTotals } from '../../../schemas/live-event.ts'

/** Counts events, and keeps the first of each status: those that are rare are seen beside many others. */
export class LiveSample {
  readonly #eachMax: number
  #totals: LiveTotals = { ok: 0, filtered: 0, invalid_ip: 0 }
  #kept: LiveTotals = { ok: 0, filtered: 0, invalid_ip: 0 }
  #events: LiveEvent[] = []

  /** @param eachMax events of a status that are kept */
  constructor(eachMax: number) {
    this.#eachMax = eachMax
  }

  /** @param make what is shown of it; called only for one that is kept */
  add(status: LiveStatus, make: () => LiveEvent): void {
    this.#totals[status]++
    this.#keep(status, make)
  }

  /** What another sample took. */
  merge({ totals, events }: LiveReport): void {
    this.#totals.ok += totals.ok
    this.#totals.filtered += totals.filtered
    this.#totals.invalid_ip += totals.invalid_ip
    for (const event of events) this.#keep(event.status, () => event)
  }

  /** What came since the last call; undefined: nothing. */
  take(): LiveReport | undefined {
    const { ok, filtered, invalid_ip: invalid } = this.#totals
    if (ok + filtered + invalid === 0) return undefined
    const report = { totals: this.#totals, events: this.#events }
    this.#totals = { ok: 0, filtered: 0, invalid_ip: 0 }
    this.#kept = { ok: 0, filtered: 0, invalid_ip: 0 }
    this.#events = []
    return report
  }

  #keep(status: LiveStatus, make: () => LiveEvent): void {
    if (this.#kept[status] >= this.#eachMax) return
    this.#kept[status]++
    this.#events.push(make())
  }
}
