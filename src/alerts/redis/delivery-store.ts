import { ALERT_LIMITS, type AlertRecord } from '../../../schemas/alert.ts'
import { DAY_MS } from '../../pipeline/event/outcomes.ts'
import { InputError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { type Delivery, isSubscribed, QUEUES, type Queue } from '../delivery.ts'

/** Turns a failure of Redis into an `UnavailableError`. */
export const answered = answeredOr('the store of alerts does not answer')

const using = './alerts.lua'
const addScript = loadScript(import.meta.url, './addDelivery-6.lua', { using })
const trimScript = loadScript(import.meta.url, './trimDeliveries-3.lua', { using })
const settleScript = loadScript(import.meta.url, './settleDelivery-8.lua', { using })

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

/** Which messages to read. */
export interface DeliveryFilter {
  /** `next` of the page before; undefined: the newest. */
  readonly before?: string | undefined
  readonly limit: number
  readonly alertId?: string | undefined
  readonly state?: Delivery['state'] | undefined
}

/** Messages, newest first. */
export interface DeliveryPage {
  readonly deliveries: readonly Delivery[]
  /** Where the next page begins; undefined: there are no older messages. */
  readonly next: string | undefined
}

/** Messages that a page looks through at most, and those that one call of Redis answers. */
const READ_MAX = 2_000
const READ_AT_ONCE = 100
const CURSOR = /^(\d{1,16})-(msg_[0-9a-f]{32})$/

/** Messages in Redis. */
export class RedisDeliveries {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  /** The queues that are not empty. */
  async queues(): Promise<DeliveryQueue[]> {
    const members = await this.#client.smembers(keys.deliveryQueues())
    return members.map(queueOf)
  }

  /** Ids of messages that are due, oldest due time first. */
  async due({ alertId, queue }: DeliveryQueue, nowMs: number, limit: number): Promise<string[]> {
    return await this.#client.zrangebyscore(keys.waitingDeliveries(alertId, queue), '-inf', nowMs, 'LIMIT', 0, limit)
  }

  async get(tenantId: string, id: string): Promise<Delivery | undefined> {
    const json = await answered(this.#client.hget(keys.deliveries(tenantId), id))
    return json === null ? undefined : (JSON.parse(json) as Delivery)
  }

  /** Newest first. Reads at most `READ_MAX` messages, so a page may be short, or empty, and still have a next one. */
  async page(tenantId: string, { before, limit, alertId, state }: DeliveryFilter): Promise<DeliveryPage> {
    const times = keys.deliveryTimes(tenantId)
    const deliveries: Delivery[] = []
    let at = before === undefined ? 0 : await this.#placeAfter(times, before)
    for (let read = 0; read < READ_MAX; ) {
      const listed = await answered(this.#client.zrevrange(times, at, at + READ_AT_ONCE - 1, 'WITHSCORES'))
      const ids = listed.filter((_, i) => i % 2 === 0)
      if (ids.length === 0) return { deliveries, next: undefined }
      const found = await answered(this.#client.hmget(keys.deliveries(tenantId), ...ids))
      for (const [i, json] of found.entries()) {
        at++
        read++
        const delivery = json === null ? undefined : (JSON.parse(json) as Delivery)
        if (delivery === undefined || (alertId ?? delivery.alertId) !== delivery.alertId) continue
        if ((state ?? delivery.state) !== delivery.state) continue
        deliveries.push(delivery)
        if (deliveries.length === limit) return { deliveries, next: `${listed[2 * i + 1]}-${ids[i]}` }
      }
      if (read >= READ_MAX) return { deliveries, next: `${listed.at(-1)}-${ids.at(-1)}` }
    }
    return { deliveries, next: undefined }
  }

  /** The place after a message, or after its time when it is gone. */
  async #placeAfter(times: string, before: string): Promise<number> {
    const [, atMs, id] = CURSOR.exec(before) ?? []
    if (atMs === undefined || id === undefined) throw new InputError('before is not the next of a page')
    const rank = await answered(this.#client.zrevrank(times, id))
    return rank === null ? await answered(this.#client.zcount(times, atMs, '+inf')) : rank + 1
  }

  /** When waiting messages are due, by id, also while their alerts are paused. */
  async dueTimes(deliveries: readonly Pick<Delivery, 'id' | 'alertId'>[]): Promise<ReadonlyMap<string, number>> {
    const due = new Map<string, number>()
    const scores = deliveries.flatMap(({ id, alertId }) =>
      QUEUES.map(async (queue) => {
        const score = await this.#client.zscore(keys.waitingDeliveries(alertId, queue), id)
        if (score !== null) due.set(id, Number(score))
      }),
    )
    await answered(Promise.all(scores))
    return due
  }

  /** The number of waiting messages of an alert. */
  async waitingOf(alertId: string): Promise<number> {
    const counts = QUEUES.map((queue) => this.#client.zcard(keys.waitingDeliveries(alertId, queue)))
    return (await answered(Promise.all(counts))).reduce((total, count) => total + count, 0)
  }

  /**
   * Adds a message that a person requested, or of a subscription.
   * @param rev its revision now; undefined: it is new
   * @returns false when it has changed meanwhile
   * @throws InputError when too many wait
   */
  async add(tenantId: string, delivery: Delivery, dueAtMs: number, rev?: number): Promise<boolean> {
    const { id, alertId, createdAtMs, type } = delivery
    const queue = { tenantId, alertId, queue: isSubscribed(type) ? 'digest' : 'requested' } as const
    const names = [
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.waitingDeliveries(alertId, queue.queue),
      keys.deliveryQueues(),
      keys.finishedDeliveries(tenantId),
      keys.waitingDeliveries(alertId, 'due'),
    ]
    const args = [
      id,
      JSON.stringify(delivery),
      createdAtMs,
      dueAtMs,
      memberOf(queue),
      rev ?? '',
      ALERT_LIMITS.waitingMax,
    ]
    const result = await answered(addScript.run(this.#client, names, args))
    if (result === -3) {
      throw new InputError(
        `${ALERT_LIMITS.waitingMax} requested messages of this alert wait: try again when they are sent`,
      )
    }
    return result === 1
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
      /** Until then the alert sends no message, unless an earlier attempt has set a later time. */
      readonly heldUntilMs?: number
    },
  ): Promise<boolean> {
    const { rev, dueAtMs, nowMs, paused, heldUntilMs } = settled
    const names = [
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.finishedDeliveries(tenantId),
      keys.waitingDeliveries(alertId, queue),
      keys.deliveryQueues(),
      keys.alertsOf(tenantId),
      keys.alertingTenants(),
      keys.alertProgress(alertId),
    ]
    const args = [
      ...[delivery.id, rev, JSON.stringify(delivery), dueAtMs ?? '', nowMs],
      ...[memberOf({ tenantId, alertId, queue }), tenantId, alertId],
      paused === undefined ? '' : JSON.stringify(paused),
      ...[ALERT_LIMITS.deliveriesMax, nowMs - ALERT_LIMITS.deliveryDays * DAY_MS],
      JSON.stringify(delivery.attempts.at(-1) ?? null),
      heldUntilMs ?? '',
      queue === 'due' && delivery.state === 'delivered' ? 1 : 0,
    ]
    return (await settleScript.run(this.#client, names, args)) === 1
  }

  /** Until when an alert sends no message, milliseconds; 0: no wait. */
  async heldUntil(alertId: string): Promise<number> {
    return Number((await this.#client.hget(keys.alertProgress(alertId), 'held')) ?? 0)
  }

  /** Removes finished messages of a tenant that are too old. Nothing else removes those of a tenant without new messages. */
  async trim(tenantId: string, nowMs: number): Promise<void> {
    const finished = keys.finishedDeliveries(tenantId)
    const beforeMs = nowMs - ALERT_LIMITS.deliveryDays * DAY_MS
    const names = [keys.deliveries(tenantId), keys.deliveryTimes(tenantId), finished]
    for (let left = await this.#client.zcard(finished); left > 0; ) {
      const before = left
      left = Number(await trimScript.run(this.#client, names, [ALERT_LIMITS.deliveriesMax, beforeMs]))
      if (left >= before) return
    }
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

/**
 * Member of the set of queues. A sender of an earlier version would mail a digest without the link that ends it. It takes the second word for
 * the id of an alert, and leaves the queue alone when there is none.
 */
export function memberOf({ tenantId, alertId, queue }: DeliveryQueue): string {
  return queue === 'digest' ? `${tenantId} digest ${alertId}` : `${tenantId} ${alertId} ${queue}`
}

function queueOf(member: string): DeliveryQueue {
  const [tenantId, one, other] = member.split(' ') as [string, string, string]
  return one === 'digest' ? { tenantId, alertId: other, queue: one } : { tenantId, alertId: one, queue: other as Queue }
}
