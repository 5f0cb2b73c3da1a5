import type { LiveReport } from '../../../schemas/live-event.ts'
import { LiveSample } from '../../pipeline/event/live-sample.ts'
import { type Tenant, tenantKey } from '../../tenants/tenancy.ts'
import { type BeginSending, eventText } from './event-streams.ts'
import { SharedFeed } from './shared-feed.ts'

/** Arriving events of a tenant, from all ingress processes. */
export interface LiveSource {
  /**
   * Calls `heard` with the report of each process, about twice a second, while events arrive. Reports are lost while Redis is
   * down. Returns a function that stops it.
   * @param tenant its `tenantKey`
   */
  watch(tenant: string, heard: (report: LiveReport) => void): () => void
}

const FRAME_EVERY_MS = 500
/** Events per frame and status: 10 a second, more than a person can read. */
const EACH_MAX = 5

/** Merges the reports of all processes into frames of half a second, shared by all pages of a tenant. */
export class LiveHub {
  readonly #source: LiveSource
  readonly #feeds = new Map<string, SharedFeed>()

  constructor(source: LiveSource) {
    this.#source = source
  }

  /** Sends events named `frame`, see `LiveReport`; none while no event arrives. */
  of(tenant: Pick<Tenant, 'id' | 'createdAt'>): BeginSending {
    const key = tenantKey(tenant)
    return (listener) => {
      const feed = this.#feeds.get(key) ?? new SharedFeed(this.#frames(key))
      this.#feeds.set(key, feed)
      const leave = feed.join(listener)
      return () => {
        leave()
        if (feed.isIdle) this.#feeds.delete(key)
      }
    }
  }

  #frames(key: string): BeginSending {
    return ({ send }) => {
      const sample = new LiveSample(EACH_MAX)
      const close = this.#source.watch(key, (report) => sample.merge(report))
      const timer = setInterval(() => {
        const frame = sample.take()
        if (frame !== undefined) send(eventText('frame', frame))
      }, FRAME_EVERY_MS).unref()
      return () => {
        clearInterval(timer)
        close()
      }
    }
  }
}
