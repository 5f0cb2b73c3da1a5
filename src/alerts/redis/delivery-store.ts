import { ALERT_LIMITS, type AlertRecord } from '../../../schemas/alert.ts'
import { DAY_MS } from '../../pipeline/event/outcomes.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { orUnavailable } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { type Delivery, QUEUES, type Queue } from '../delivery.ts'

const using = './alerts.lua'
const addScript = loadScript(import.meta.url, './addDelivery-6.lua', { using })
const settleScript = loadScript(import.meta.url, './settleDelivery-7.lua', { using })

/** A queue of an alert's waiting messages. */
export interface DeliveryQueue {
  readonly tenantId: string
  readonly alertId: string
  readonly queue: Queue
}

/** Waiting messages of all tenants. */
export interface WaitingDeliveries {
  readonly waiting: number
  /** When the oldest of them was due, milliseconds; undefined: none is late. */
  readonly dueSinceMs: number | undefined
}

/** Messages in Redis. */
export class RedisDeliveries {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  /** The queues that are not empty. */
  async queues(): Promise<DeliveryQueue[]> {
    const members = await this.#client.smembers(keys.deliveryQueues())
    return members.map((member) => {
      const [tenantId, alertId, queue] = member.split(' ') as [string, string, Queue]
      return { tenantId, alertId, queue }
    })
  }

  /** Ids of messages that are due, oldest due time first. */
  async due({ alertId, queue }: DeliveryQueue, nowMs: number, limit: number): Promise<string[]> {
    return await this.#client.zrangebyscore(keys.waitingDeliveries(alertId, queue), '-inf', nowMs, 'LIMIT', 0, limit)
  }

  async get(tenantId: string, id: string): Promise<Delivery | undefined> {
    const json = await answered(this.#client.hget(keys.deliveries(tenantId), id))
    return json === null ? undefined : (JSON.parse(json) as Delivery)
  }

  /** Newest first. */
  async page(tenantId: string, offset: number, limit: number): Promise<{ deliveries: Delivery[]; total: number }> {
    const times = keys.deliveryTimes(tenantId)
    const [ids, total] = await answered(
      Promise.all([this.#client.zrevrange(times, offset, offset + limit - 1), this.#client.zcard(times)]),
    )
    if (ids.length === 0) return { deliveries: [], total }
    const found = await answered(this.#client.hmget(keys.deliveries(tenantId), ...ids))
    return { deliveries: found.flatMap((json) => (json === null ? [] : [JSON.parse(json) as Delivery])), total }
  }

  /** When the waiting messages of an alert are due, by id, also while it is paused. */
  async dueTimes(alertId: string): Promise<ReadonlyMap<string, number>> {
    const due = new Map<string, number>()
    for (const queue of QUEUES) {
      const found = await answered(
        this.#client.zrangebyscore(keys.waitingDeliveries(alertId, queue), '-inf', '+inf', 'WITHSCORES'),
      )
      for (let at = 0; at < found.length; at += 2) due.set(found[at]!, Number(found[at + 1]))
    }
    return due
  }

  /**
   * Adds a message that a person requested.
   * @param rev its revision now; undefined: it is new
   * @returns false when it has changed meanwhile
   */
  async add(tenantId: string, delivery: Delivery, dueAtMs: number, rev?: number): Promise<boolean> {
    const { id, alertId, createdAtMs } = delivery
    const queue = { tenantId, alertId, queue: 'requested' } as const
    const names = [
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.waitingDeliveries(alertId, queue.queue),
      keys.deliveryQueues(),
      keys.finishedDeliveries(tenantId),
      keys.waitingDeliveries(alertId, 'due'),
    ]
    const args = [id, JSON.stringify(delivery), createdAtMs, dueAtMs, memberOf(queue), rev ?? '']
    return (await answered(addScript.run(this.#client, names, args))) === 1
  }

  /**
   * Writes a message after an attempt.
   * @param rev its revision before
   * @param dueAtMs undefined: it is finished
   * @param paused pauses its alert, and says why
   * @returns false when it has changed meanwhile; then this attempt is not recorded
   */
  async settle(
    { tenantId, alertId, queue }: DeliveryQueue,
    delivery: Delivery,
    settled: {
      readonly rev: number
      readonly dueAtMs: number | undefined
      readonly nowMs: number
      readonly paused?: AlertRecord['paused']
    },
  ): Promise<boolean> {
    const { rev, dueAtMs, nowMs, paused } = settled
    const names = [
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.finishedDeliveries(tenantId),
      keys.waitingDeliveries(alertId, queue),
      keys.deliveryQueues(),
      keys.alertsOf(tenantId),
      keys.alertingTenants(),
    ]
    const args = [
      ...[delivery.id, rev, JSON.stringify(delivery), dueAtMs ?? '', nowMs],
      ...[memberOf({ tenantId, alertId, queue }), tenantId, alertId],
      paused === undefined ? '' : JSON.stringify(paused),
      ...[ALERT_LIMITS.deliveriesMax, nowMs - ALERT_LIMITS.deliveryDays * DAY_MS],
    ]
    return (await settleScript.run(this.#client, names, args)) === 1
  }

  /** Removes a message whose record is gone from its queue. */
  async forget({ tenantId, alertId, queue }: DeliveryQueue, id: string): Promise<void> {
    await this.#client.zrem(keys.waitingDeliveries(alertId, queue), id)
    await this.#client.zrem(keys.deliveryTimes(tenantId), id)
  }

  /** Reads at most two numbers per queue. */
  async waiting(nowMs: number): Promise<WaitingDeliveries> {
    let waiting = 0
    let dueSinceMs: number | undefined
    for (const { alertId, queue } of await this.queues()) {
      const key = keys.waitingDeliveries(alertId, queue)
      waiting += await this.#client.zcard(key)
      const [, due] = await this.#client.zrangebyscore(key, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
      if (due !== undefined && Number(due) <= nowMs) dueSinceMs = Math.min(dueSinceMs ?? nowMs, Number(due))
    }
    return { waiting, dueSinceMs }
  }
}

/** Turns a failure of Redis into an `UnavailableError`. */
export function answered<T>(reply: Promise<T>): Promise<T> {
  return orUnavailable(reply, 'the store of alerts does not answer')
}

/** Member of the set of queues. */
export function memberOf({ tenantId, alertId, queue }: DeliveryQueue): string {
  return `${tenantId} ${alertId} ${queue}`
}
