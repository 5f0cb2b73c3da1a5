import { createHash, randomBytes } from 'node:crypto'
import { type AlertRecord, normalAddress } from '../../../schemas/alert.ts'
import { DAY_MS } from '../../pipeline/event/outcomes.ts'
import { compareTexts } from '../../run/compare-texts.ts'
import type { SecretBox } from '../../secrets/secret-box.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { keysLike } from '../../stores/redis/nodes.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { CONFIRM_DAYS } from '../delivery.ts'
import type { Alert } from './alert-store.ts'
import { answered } from './delivery-store.ts'

const confirmScript = loadScript(import.meta.url, './confirmAddress-5.lua', { using: './alerts.lua' })

const TOKEN = /^[\w-]{43}$/

/** An e-mail address of a tenant, see `normalAddress`. */
export interface TenantAddress {
  readonly tenantId: string
  readonly address: string
}

/**
 * Confirmed e-mail addresses of tenants, the links that confirm, and opt-outs. Redis has only the digests of tokens, and keyed digests of the
 * addresses that opted out: these may be of people who left.
 */
export class RedisAddresses {
  readonly #client: RedisClient
  readonly #secrets: Pick<SecretBox, 'digest'>

  constructor(client: RedisClient, secrets: Pick<SecretBox, 'digest'>) {
    this.#client = client
    this.#secrets = secrets
  }

  /**
   * Whether an address needs no link. True also when an alert of an earlier version sends there, or another that does not wait. False after a
   * subscription of this kind ended by a link or with its person, until the address confirms one of this kind. False also while the tenant has
   * opt-outs of this kind under another secrets key: any address may be one of them.
   */
  async isConfirmed({ tenantId, address }: TenantAddress, kind: AlertRecord['on']): Promise<boolean> {
    if (await this.#hasOptedOut({ tenantId, address }, kind)) return false
    if ((await answered(this.#client.sismember(keys.confirmedAddresses(tenantId), address))) === 1) return true
    const alerts = await answered(this.#client.hvals(keys.alertsOf(tenantId)))
    return alerts
      .map((json) => JSON.parse(json) as AlertRecord)
      .some(
        ({ to, target, unconfirmed }) =>
          to === 'email' && unconfirmed === undefined && normalAddress(target) === address,
      )
  }

  async #hasOptedOut(of: TenantAddress, kind: AlertRecord['on']): Promise<boolean> {
    const optOuts = await answered(this.#client.smembers(keys.optOuts(of.tenantId)))
    if (optOuts.length === 0) return false
    const own = `${kind} ${this.#digestOf(of)}`
    const underThisKey = own.slice(0, own.indexOf(':') + 1)
    return optOuts.some((one) => one === own || (one.startsWith(`${kind} `) && !one.startsWith(underThisKey)))
  }

  /** What an address that confirms would get, oldest first. */
  async waitingFor({ tenantId, address }: TenantAddress): Promise<Alert[]> {
    const alerts = await answered(this.#client.hgetall(keys.alertsOf(tenantId)))
    return Object.entries(alerts)
      .map(([id, json]): Alert => ({ ...(JSON.parse(json) as AlertRecord), id, tenantId }))
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
   * @param link uses up the link of the token, and starts no other alerts than those of these ids, which the receiver was shown; undefined: an
   * operator confirms, and all start
   * @returns false when the link does not work, or neither one of these alerts waits nor the address was confirmed before
   */
  async confirm(
    of: TenantAddress,
    nowMs: number,
    link?: { readonly token: string; readonly shown: readonly string[] },
  ): Promise<boolean> {
    const { tenantId, address } = of
    const names = [
      keys.alertingTenants(),
      keys.alertsOf(tenantId),
      keys.confirmedAddresses(tenantId),
      tokenKey(link?.token ?? ''),
      keys.optOuts(tenantId),
    ]
    const shown = link === undefined ? '' : JSON.stringify(link.shown)
    const args = [tenantId, address, new Date(nowMs).toISOString(), this.#digestOf(of), shown]
    return (await answered(confirmScript.run(this.#client, names, args))) !== null
  }

  /** Another subscription of this kind has to be confirmed by the address in any case. */
  async optOut(of: TenantAddress, kind: AlertRecord['on']): Promise<void> {
    await answered(this.#client.sadd(keys.optOuts(of.tenantId), `${kind} ${this.#digestOf(of)}`))
  }

  /** An address has to confirm again, unless an alert sends there. */
  async forget({ tenantId, address }: TenantAddress): Promise<void> {
    await answered(this.#client.srem(keys.confirmedAddresses(tenantId), address))
  }

  /** Removes everything about an address. An opt-out under another secrets key cannot be found, and stays. */
  async erase(of: TenantAddress): Promise<void> {
    await this.forget(of)
    const digest = this.#digestOf(of)
    for (const optOut of await answered(this.#client.smembers(keys.optOuts(of.tenantId))))
      if (optOut.endsWith(` ${digest}`)) await answered(this.#client.srem(keys.optOuts(of.tenantId), optOut))
    await removeLinks(this.#client, ({ tenantId, address }) => tenantId === of.tenantId && address === of.address)
  }

  #digestOf({ tenantId, address }: TenantAddress): string {
    return this.#secrets.digest(address, tenantId)
  }
}

/** Removes the confirmed addresses and the opt-outs of a tenant, and its links. */
export async function removeAddressesOf(client: RedisClient, tenantId: string): Promise<void> {
  await client.del(keys.confirmedAddresses(tenantId), keys.optOuts(tenantId))
  await removeLinks(client, (of) => of.tenantId === tenantId)
}

async function removeLinks(client: RedisClient, isGone: (of: TenantAddress) => boolean): Promise<void> {
  for await (const key of keysLike(client, keys.confirmationPattern())) {
    const json = await client.get(key)
    if (json !== null && isGone(JSON.parse(json) as TenantAddress)) await client.del(key)
  }
}

function tokenKey(token: string): string {
  return keys.confirmation(createHash('sha256').update(token).digest('hex'))
}
