import type { LiveEvent, LiveReport, LiveStatus, LiveTotals } from '../../../schemas/live-event.ts'

/** Counts events, and keeps the first ones of each status, so that frequent statuses do not crowd out rare ones. */
export class LiveSample {
  readonly #eachMax: number
  #totals: LiveTotals = { ok: 0, filtered: 0, invalid_ip: 0 }
  #kept: LiveTotals = { ok: 0, filtered: 0, invalid_ip: 0 }
  #events: LiveEvent[] = []

  /** @param eachMax most events to keep per status */
  constructor(eachMax: number) {
    this.#eachMax = eachMax
  }

  /** @param make called only for an event that is kept */
  add(status: LiveStatus, make: () => LiveEvent): void {
    this.#totals[status]++
    this.#keep(status, make)
  }

  /** Adds the report of another sample. */
  merge({ totals, events }: LiveReport): void {
    this.#totals.ok += totals.ok
    this.#totals.filtered += totals.filtered
    this.#totals.invalid_ip += totals.invalid_ip
    for (const event of events) this.#keep(event.status, () => event)
  }

  /** Reports the events since the last call. Undefined when there are none. */
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
