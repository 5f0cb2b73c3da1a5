import { ALERT_LIMITS, ALERT_TYPES, type AlertRecord, type AlertType, JOB_TYPE } from '../../../schemas/alert.ts'
import { compareTexts } from '../../run/compare-texts.ts'
import { InputError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { type Attempt, type Delivery, QUEUES } from '../delivery.ts'
import { answered, memberOf } from './delivery-store.ts'

const using = './alerts.lua'
const writeScript = loadScript(import.meta.url, './writeAlert-6.lua', { using })
const removeScript = loadScript(import.meta.url, './removeAlert-10.lua', { using })

/** An alert of a tenant, or a subscription to its digest or to files of an export. */
export interface Alert extends AlertRecord {
  readonly id: string
  readonly tenantId: string
}

/** A subscription to the digest of a tenant. */
export type Digest = Alert & { readonly on: 'digest' } & Required<Pick<AlertRecord, 'every' | 'at'>>

export function isDigest(alert: Alert): alert is Digest {
  return alert.on === 'digest'
}

/** A subscription to the files of an export. */
export type ExportMail = Alert & { readonly on: 'export' } & Required<Pick<AlertRecord, 'export'>>

export function isExportMail(alert: Alert): alert is ExportMail {
  return alert.on === 'export'
}

/** A subscription, which a link in its mails ends. */
export type Subscription = Digest | ExportMail

export function isSubscription(alert: Alert): alert is Subscription {
  return isDigest(alert) || isExportMail(alert)
}

/** An alert, as opposed to a subscription. */
export type FiringAlert = Alert & { readonly on: AlertType }

export function isAlert(alert: Alert): alert is FiringAlert {
  return ALERT_TYPES.some((type) => type === alert.on)
}

/** An alert about companies. */
export type CompanyAlert = Alert & { readonly on: Exclude<AlertType, typeof JOB_TYPE> }

export function isAboutCompanies(alert: FiringAlert): alert is CompanyAlert {
  return alert.on !== JOB_TYPE
}

/** Changes of an alert; null removes a field. */
export type AlertChange = Partial<
  Pick<AlertRecord, 'name' | 'active_since' | 'every' | 'at' | 'secret' | 'unconfirmed'>
> & {
  readonly paused?: AlertRecord['paused'] | null
  readonly sends_empty?: true | null
}

/** The last actions of an alert. */
export interface AlertActivity {
  /** When it fired, milliseconds, and for which company; undefined: never, or not since a restore. */
  readonly fired: { readonly atMs: number; readonly companyId: string; readonly companyName: string } | undefined
  /** The last attempt of any of its messages, tests included. */
  readonly attempt: Attempt | undefined
}

/** Alerts in Redis. */
export class RedisAlerts {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  /** The alerts of a tenant, oldest first. */
  async list(tenantId: string): Promise<Alert[]> {
    const found = await answered(this.#client.hgetall(keys.alertsOf(tenantId)))
    return Object.entries(found)
      .map(([id, json]): Alert => ({ ...(JSON.parse(json) as AlertRecord), id, tenantId }))
      .sort((a, b) => compareTexts(a.created_at, b.created_at) || compareTexts(a.id, b.id))
  }

  async get(tenantId: string, id: string): Promise<Alert | undefined> {
    const json = await answered(this.#client.hget(keys.alertsOf(tenantId), id))
    return json === null ? undefined : { ...(JSON.parse(json) as AlertRecord), id, tenantId }
  }

  async activity(id: string): Promise<AlertActivity> {
    const names = ['fired', 'fired_id', 'fired_name', 'attempt'] as const
    const [at, companyId, companyName, attempt] = await answered(this.#client.hmget(keys.alertProgress(id), ...names))
    return {
      fired: at ? { atMs: Number(at), companyId: companyId ?? '', companyName: companyName ?? '' } : undefined,
      attempt: attempt ? ((JSON.parse(attempt) as Attempt | null) ?? undefined) : undefined,
    }
  }

  /**
   * @param message is added in the same step, and sent even while the alert is paused
   * @throws InputError when its name is taken, or the tenant has too many
   */
  async create({ id, tenantId, ...record }: Alert, message?: Delivery): Promise<Alert> {
    const [max, what] =
      record.on === 'digest'
        ? [ALERT_LIMITS.digestsMax, 'digests']
        : record.on === 'export'
          ? [ALERT_LIMITS.exportMailsMax, 'subscriptions to exports']
          : [ALERT_LIMITS.alertsMax, 'alerts']
    const args: (string | number)[] = [tenantId, id, JSON.stringify(record), max]
    if (message !== undefined) {
      const member = memberOf({ tenantId, alertId: id, queue: 'requested' })
      args.push(message.id, JSON.stringify(message), message.createdAtMs, member)
    }
    const json = await this.#write(tenantId, id, args)
    if (json === 0 && (record.on === 'digest' || record.on === 'export')) {
      throw new InputError(`${record.target} was subscribed at the same moment: look at the list again`)
    }
    if (json === 0) {
      throw new InputError(`tenant ${tenantId} has an alert named ${JSON.stringify(record.name)}`, { field: 'name' })
    }
    if (json === 1) throw new InputError(`a tenant has at most ${max} ${what}: remove one first`)
    return { ...(JSON.parse(String(json)) as AlertRecord), id, tenantId }
  }

  /**
   * @returns undefined when there is no such alert any more
   * @throws InputError when its name is taken, or its pause would end while it waits for its address
   */
  async change(tenantId: string, id: string, change: AlertChange): Promise<Alert | undefined> {
    const json = await this.#write(tenantId, id, [tenantId, id, JSON.stringify(change), ''])
    if (json === 2) throw new InputError('the alert waits for its address to confirm')
    if (json === 0) throw new InputError(`tenant ${tenantId} has an alert named ${JSON.stringify(change.name)}`)
    return json === null ? undefined : { ...(JSON.parse(String(json)) as AlertRecord), id, tenantId }
  }

  /** Ends the wait that the receiver asked for. */
  async endHold(id: string): Promise<void> {
    await answered(this.#client.hdel(keys.alertProgress(id), 'held'))
  }

  async remove(tenantId: string, id: string, nowMs: number): Promise<void> {
    const names = [
      keys.alertingTenants(),
      keys.alertsOf(tenantId),
      keys.alertProgress(id),
      keys.recordedOccurrences(id),
      keys.digestOf(id),
      ...QUEUES.map((queue) => keys.waitingDeliveries(id, queue)),
      keys.finishedDeliveries(tenantId),
      keys.deliveryQueues(),
    ]
    const members = QUEUES.map((queue) => memberOf({ tenantId, alertId: id, queue }))
    await answered(removeScript.run(this.#client, names, [tenantId, id, nowMs, ...members]))
  }

  /** Removes everything about alerts of a tenant. */
  async removeAll(tenantId: string, nowMs: number): Promise<void> {
    for (const { id } of await this.list(tenantId)) await this.remove(tenantId, id, nowMs)
    await this.#client.srem(keys.alertingTenants(), tenantId)
    await this.#client.del(
      keys.alertsOf(tenantId),
      keys.touchedCompanies(tenantId),
      keys.reportedFacts(tenantId),
      keys.reportedTimes(tenantId),
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.finishedDeliveries(tenantId),
    )
  }

  #write(tenantId: string, id: string, args: readonly (string | number)[]): Promise<unknown> {
    const names = [
      keys.alertingTenants(),
      keys.alertsOf(tenantId),
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.waitingDeliveries(id, 'requested'),
      keys.deliveryQueues(),
    ]
    return answered(writeScript.run(this.#client, names, args))
  }
}
