import type { Logger } from 'pino'
import type { Clock } from '../run/clock.ts'
import { type Lease, LeasedService } from '../run/leased-service.ts'
import { type DelayBounds, pause } from '../run/loop.ts'
import { PASSING } from '../run/passing.ts'
import {
  type Attempt,
  afterAttempt,
  type Delivery,
  GONE,
  holdAfter,
  pausedAfter,
  RETRY_AFTER_MAX_MS,
  TEST_TYPE,
} from './delivery.ts'
import { type Alert, isExportMail, type RedisAlerts } from './redis/alert-store.ts'
import type { DeliveryQueue, RedisDeliveries } from './redis/delivery-store.ts'

interface SenderOptions {
  readonly lease: Lease
  readonly deliveries: RedisDeliveries
  readonly alerts: Pick<RedisAlerts, 'list'>
  /** Ids of all tenants. */
  readonly tenants: () => Promise<readonly string[]>
  readonly send: (alert: Alert, delivery: Delivery, signal: AbortSignal) => Promise<Attempt>
  /** Resolves when everything that Redis has answered is on disk. */
  readonly persisted: () => Promise<void>
  readonly clock: Clock
  readonly log: Logger
  readonly onAttempt?: (result: 'delivered' | 'retried' | 'failed') => void
}

/** An attempt in progress. */
interface Sending {
  readonly of: DeliveryQueue
  /** Whether its mail may have a file of an export. */
  readonly isFile: boolean
  readonly ended: Promise<void>
}

/** Concurrent attempts of an alert, so that its receiver is not flooded; of a tenant; of all. */
const PER_ALERT_MAX = 8
/** Slack takes one message a second of each incoming webhook. A workflow of Teams posts at most a few in a second. */
const ONE_AT_A_TIME: ReadonlySet<Alert['to']> = new Set(['slack', 'teams'])
const PER_TENANT_MAX = 32
/** Mails with files of exports, which may have 10 MB each. Those of a tenant are sent in turn. */
const FILES_MAX = 8
const TOTAL_MAX = 256
const LOOK_EVERY_MS = 500
/** Removes old messages this often. */
const TRIM_EVERY_MS = 3_600_000
const LOOP_DELAY: DelayBounds = { minMs: 250, maxMs: 5_000 }
/** A stop waits this long for attempts in progress, then aborts them. The next sender repeats them. */
const STOP_MS = 3_000

/**
 * Sends the messages that are due. One process at a time does this, under a lease. An attempt whose outcome is not recorded, because the
 * process ended, is made again with the same id: a receiver gets each message at least once.
 */
export class Sender extends LeasedService {
  readonly #options: SenderOptions
  /** By message id. */
  readonly #sending = new Map<string, Sending>()
  #abort = new AbortController()
  /** Rotates the queue that is first in a round. */
  #turn = 0
  /** `clock.now()` of the last time; undefined: not yet. */
  #trimmedMs: number | undefined

  constructor(options: SenderOptions) {
    const problem = 'messages of alerts are not sent at the moment; none is lost'
    super({ ...options, name: 'alert sender', delay: LOOP_DELAY, problem })
    this.#options = options
  }

  protected override async settle(): Promise<void> {
    const ended = Promise.all([...this.#sending.values()].map((sending) => sending.ended))
    if (this.signal.aborted) await Promise.race([ended, pause(STOP_MS)])
    this.#abort.abort()
    await ended
    this.#abort = new AbortController()
  }

  protected override async round(): Promise<number> {
    const { deliveries, clock } = this.#options
    await this.#trim()
    const queues = await deliveries.queues()
    if (queues.length === 0) return LOOK_EVERY_MS
    const alerts = await this.#alertsOf(queues)
    const nowMs = clock.now()
    const first = this.#turn++ % queues.length
    for (const queue of [...queues.slice(first), ...queues.slice(0, first)]) {
      if (this.signal.aborted) break
      const alert = alerts.get(queue.alertId)
      // Removed, or paused.
      if (alert === undefined || (queue.queue !== 'requested' && alert.paused !== undefined)) continue
      await this.#begin(alert, queue, nowMs)
    }
    return LOOK_EVERY_MS
  }

  async #trim(): Promise<void> {
    const { deliveries, tenants, clock } = this.#options
    const nowMs = clock.now()
    if (this.#trimmedMs !== undefined && nowMs - this.#trimmedMs < TRIM_EVERY_MS) return
    for (const tenantId of await tenants()) await deliveries.trim(tenantId, nowMs)
    this.#trimmedMs = nowMs
  }

  async #alertsOf(queues: readonly DeliveryQueue[]): Promise<ReadonlyMap<string, Alert>> {
    const tenants = [...new Set(queues.map(({ tenantId }) => tenantId))]
    const lists = await Promise.all(tenants.map((tenantId) => this.#options.alerts.list(tenantId)))
    return new Map(lists.flat().map((alert) => [alert.id, alert]))
  }

  async #begin(alert: Alert, queue: DeliveryQueue, nowMs: number): Promise<void> {
    const sending = [...this.#sending.values()].map(({ of }) => of)
    const ofAlert = sending.filter(({ alertId }) => alertId === queue.alertId).length
    const ofTenant = sending.filter(({ tenantId }) => tenantId === queue.tenantId).length
    const alertMax = ONE_AT_A_TIME.has(alert.to) ? 1 : PER_ALERT_MAX
    const room = Math.min(
      ...[alertMax - ofAlert, PER_TENANT_MAX - ofTenant, TOTAL_MAX - sending.length],
      isExportMail(alert) ? this.#roomForFile(queue.tenantId) : TOTAL_MAX,
    )
    if (room <= 0) return
    // A person waits for the requested ones.
    const heldMs = queue.queue === 'due' ? (await this.#options.deliveries.heldUntil(alert.id)) - nowMs : 0
    // A longer wait was written while the clock was wrong.
    if (heldMs > 0 && heldMs <= RETRY_AFTER_MAX_MS) return
    const due = await this.#options.deliveries.due(queue, nowMs, room + ofAlert)
    for (const id of due.filter((one) => !this.#sending.has(one)).slice(0, room)) {
      const ended = this.#deliver(alert, queue, id)
        .catch((err) => {
          if (!this.#abort.signal.aborted)
            this.#options.log.warn({ err, message: id, ...PASSING }, 'a message of an alert is sent again')
        })
        .finally(() => {
          this.#sending.delete(id)
          this.wake()
        })
      this.#sending.set(id, { of: queue, isFile: isExportMail(alert), ended })
    }
  }

  #roomForFile(tenantId: string): number {
    const files = [...this.#sending.values()].filter(({ isFile }) => isFile)
    return files.some(({ of }) => of.tenantId === tenantId) ? 0 : Math.min(1, FILES_MAX - files.length)
  }

  async #deliver(alert: Alert, queue: DeliveryQueue, id: string): Promise<void> {
    const { deliveries, send, persisted, clock, onAttempt, log } = this.#options
    const delivery = await deliveries.get(queue.tenantId, id)
    if (delivery === undefined) return await deliveries.forget(queue, id)
    // If Redis lost it after it was sent, the occurrence would get another id.
    await persisted()
    const attempt = await send(alert, delivery, this.#abort.signal)
    const { delivery: next, dueAtMs } = afterAttempt(delivery, attempt)
    const nowMs = clock.now()
    const isLast = next.state === 'failed' && queue.queue !== 'requested' && delivery.type !== TEST_TYPE
    const pauses = isLast || attempt.status === GONE
    const holdMs = holdAfter(attempt)
    const settled = {
      ...{ rev: delivery.rev, dueAtMs, nowMs },
      ...(pauses && { paused: pausedAfter(next, nowMs) }),
      ...(holdMs !== undefined && { heldUntilMs: nowMs + holdMs }),
    }
    const isWritten = await deliveries.settle(queue, next, settled)
    if (!isWritten) return
    onAttempt?.(next.state === 'waiting' ? 'retried' : next.state)
    const facts = { tenant_id: queue.tenantId, alert: alert.id, message: id, reason: attempt.error }
    if (pauses) log.warn(facts, 'an alert is paused: its receiver did not take a message')
  }
}
