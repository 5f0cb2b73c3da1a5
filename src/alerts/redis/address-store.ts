import { createHash, randomBytes } from 'node:crypto'
import { type AlertRecord, normalAddress } from '../../../schemas/alert.ts'
import { DAY_MS } from '../../pipeline/event/outcomes.ts'
import { compareTexts } from '../../run/compare-texts.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { keysLike } from '../../stores/redis/nodes.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { CONFIRM_DAYS } from '../delivery.ts'
import { answered } from './delivery-store.ts'

const confirmScript = loadScript(import.meta.url, './confirmAddress-5.lua', { using: './alerts.lua' })

const TOKEN = /^[\w-]{43}$/

/** An e-mail address of a tenant, see `normalAddress`. */
export interface TenantAddress {
  readonly tenantId: string
  readonly address: string
}

/** Confirmed e-mail addresses of tenants, and the links that confirm. Redis has only the digests of their tokens. */
export class RedisAddresses {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  /**
   * Whether an address needs no link. True also when an alert of an earlier version sends there, or another that does not wait. False after the
   * receiver unsubscribed from this kind by a link, until they confirm one of this kind.
   */
  async isConfirmed({ tenantId, address }: TenantAddress, kind: AlertRecord['on']): Promise<boolean> {
    const ended = keys.unsubscribedAddresses(tenantId)
    if ((await answered(this.#client.sismember(ended, kindOf(kind, address)))) === 1) return false
    if ((await answered(this.#client.sismember(keys.confirmedAddresses(tenantId), address))) === 1) return true
    const alerts = await answered(this.#client.hvals(keys.alertsOf(tenantId)))
    return alerts
      .map((json) => JSON.parse(json) as AlertRecord)
      .some(
        ({ to, target, unconfirmed }) =>
          to === 'email' && unconfirmed === undefined && normalAddress(target) === address,
      )
  }

  /** What an address that confirms would get, oldest first. */
  async waitingFor({ tenantId, address }: TenantAddress): Promise<AlertRecord[]> {
    const alerts = await answered(this.#client.hvals(keys.alertsOf(tenantId)))
    return alerts
      .map((json) => JSON.parse(json) as AlertRecord)
      .filter(({ unconfirmed }) => unconfirmed === address)
      .sort((a, b) => compareTexts(a.created_at, b.created_at))
  }

  /** @returns the token of a link */
  async newToken(of: TenantAddress): Promise<string> {
    const token = randomBytes(32).toString('base64url')
    await answered(this.#client.set(tokenKey(token), JSON.stringify(of), 'PX', CONFIRM_DAYS * DAY_MS))
    return token
  }

  /** The address that a link would confirm; undefined: it does not work. */
  async addressOf(token: string): Promise<TenantAddress | undefined> {
    const json = TOKEN.test(token) ? await answered(this.#client.get(tokenKey(token))) : null
    return json === null ? undefined : (JSON.parse(json) as TenantAddress)
  }

  /**
   * Starts the alerts that wait for an address.
   * @param token uses up the link; undefined: an operator confirms
   * @returns false when the link does not work, or neither an alert waits nor the address was confirmed before
   */
  async confirm({ tenantId, address }: TenantAddress, nowMs: number, token?: string): Promise<boolean> {
    const names = [
      keys.alertingTenants(),
      keys.alertsOf(tenantId),
      keys.confirmedAddresses(tenantId),
      tokenKey(token ?? ''),
      keys.unsubscribedAddresses(tenantId),
    ]
    const args = [tenantId, address, new Date(nowMs).toISOString(), token === undefined ? '' : '1']
    return (await answered(confirmScript.run(this.#client, names, args))) !== null
  }

  /**
   * An address has to confirm again, unless an alert sends there.
   * @param ended the kind of subscription that the receiver ended: another one of it has to be confirmed in any case
   */
  async forget({ tenantId, address }: TenantAddress, ended?: AlertRecord['on']): Promise<void> {
    if (ended !== undefined)
      await answered(this.#client.sadd(keys.unsubscribedAddresses(tenantId), kindOf(ended, address)))
    await answered(this.#client.srem(keys.confirmedAddresses(tenantId), address))
  }

  /** Removes the addresses of a tenant, and its links. */
  async removeAll(tenantId: string): Promise<void> {
    await this.#client.del(keys.confirmedAddresses(tenantId), keys.unsubscribedAddresses(tenantId))
    for await (const key of keysLike(this.#client, keys.confirmationPattern())) {
      const json = await this.#client.get(key)
      if (json !== null && (JSON.parse(json) as TenantAddress).tenantId === tenantId) await this.#client.del(key)
    }
  }
}

function kindOf(kind: AlertRecord['on'], address: string): string {
  return `${kind} ${address}`
}

function tokenKey(token: string): string {
  return keys.confirmation(createHash('sha256').update(token).digest('hex'))
}
