import type { LiveEvent, LiveReport } from '../../../schemas/live-event.ts'
import type { Clock } from '../../run/clock.ts'
import { type Tenant, tenantKey } from '../../tenants/tenancy.ts'
import type { LiveSource } from './live-hub.ts'

/** How long to watch after the last call of `last`: a person opens their own site in another tab, and comes back. */
const WATCHED_MS = 600_000
const LOOK_EVERY_MS = 30_000
/** More than these wait without a watch, and see what the tables say. */
const TENANTS_MAX = 200

interface Watched {
  untilMs: number
  last: LiveEvent | undefined
  readonly stop: () => void
}

/** Remembers the last page view of tenants whose people wait for their first one. Tables have no addresses of filtered events. */
export class PageViewWatch {
  readonly #source: LiveSource
  readonly #clock: Clock
  readonly #tenants = new Map<string, Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(source: LiveSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
  }

  /** The last page view since the first call, which begins the watch; undefined: none yet. */
  last(tenant: Pick<Tenant, 'id' | 'createdAt'>): LiveEvent | undefined {
    const key = tenantKey(tenant)
    const untilMs = this.#clock.now() + WATCHED_MS
    const known = this.#tenants.get(key)
    if (known !== undefined) {
      known.untilMs = untilMs
      return known.last
    }
    if (this.#tenants.size >= TENANTS_MAX) return undefined
    const watched: Watched = {
      untilMs,
      last: undefined,
      stop: this.#source.watch(key, ({ events }: LiveReport) => {
        watched.last = events.findLast(({ event_type: type }) => type === 'page') ?? watched.last
      }),
    }
    this.#tenants.set(key, watched)
    this.#timer ??= setInterval(() => this.#endOld(), LOOK_EVERY_MS).unref()
    return undefined
  }

  stop(): void {
    for (const key of [...this.#tenants.keys()]) this.#end(key)
  }

  #endOld(): void {
    const nowMs = this.#clock.now()
    for (const [key, { untilMs }] of [...this.#tenants]) if (untilMs < nowMs) this.#end(key)
  }

  #end(key: string): void {
    this.#tenants.get(key)?.stop()
    this.#tenants.delete(key)
    if (this.#tenants.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
