import { LiveReport } from '../../../schemas/live-event.ts'
import { compileValidator } from '../../pipeline/event/validator.ts'
import type { TailWire } from '../../pipeline/sources/live/tail.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { LiveSource } from '../server/live-hub.ts'

/*
 * A dashboard that shows arriving events announces the tenant on one channel, and ingress processes publish samples on a channel
 * of that tenant. Redis stores nothing. Tenants are named by their `tenantKey`. Subscribers use connections of kind `loop`, and
 * subscribe again after each reconnection.
 */

/** The side of an ingress process. Owns the subscribed connection. */
export class RedisTailWire implements TailWire {
  readonly #listening: RedisClient
  readonly #client: RedisClient

  constructor(listening: RedisClient, client: RedisClient) {
    this.#listening = listening
    this.#client = client
  }

  watch(onWanted: (tenant: string) => void): void {
    this.#listening.on('message', (_channel: string, tenant: string) => onWanted(tenant))
    const subscribe = () => void this.#listening.subscribe(keys.liveWanted()).catch(() => {})
    this.#listening.on('ready', subscribe)
    subscribe()
  }

  tell(tenant: string, report: LiveReport): void {
    this.#client.publish(keys.liveEvents(tenant), JSON.stringify(report)).catch(() => {})
  }

  close(): void {
    this.#listening.disconnect()
  }
}

const WANT_EVERY_MS = 2_000

/** The side of a dashboard. Owns the subscribed connection. */
export class RedisLiveSource implements LiveSource {
  readonly #listening: RedisClient
  readonly #client: RedisClient
  readonly #heard = new Map<string, Set<(report: LiveReport) => void>>()

  constructor(listening: RedisClient, client: RedisClient) {
    this.#listening = listening
    this.#client = client
    listening.on('message', (channel: string, json: string) => {
      const report = readReport(json)
      if (report !== undefined) for (const heard of this.#heard.get(channel) ?? []) heard(report)
    })
    listening.on('ready', () => {
      if (this.#heard.size > 0) listening.subscribe(...this.#heard.keys()).catch(() => {})
    })
  }

  watch(tenant: string, heard: (report: LiveReport) => void): () => void {
    const channel = keys.liveEvents(tenant)
    const all = this.#heard.get(channel) ?? new Set()
    this.#heard.set(channel, all.add(heard))
    if (all.size === 1) this.#listening.subscribe(channel).catch(() => {})
    const want = () => void this.#client.publish(keys.liveWanted(), tenant).catch(() => {})
    want()
    const timer = setInterval(want, WANT_EVERY_MS).unref()
    return () => {
      clearInterval(timer)
      all.delete(heard)
      if (all.size > 0) return
      this.#heard.delete(channel)
      this.#listening.unsubscribe(channel).catch(() => {})
    }
  }
}

const validate = compileValidator(LiveReport)

/** Undefined: invalid, or from another version. Must not throw, because nothing would catch it. */
function readReport(json: string): LiveReport | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return validate(value).length === 0 ? (value as LiveReport) : undefined
  } catch {
    return undefined
  }
}
