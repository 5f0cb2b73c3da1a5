import { normalAddress } from '../../schemas/alert.ts'
import type { SecretBox } from '../secrets/secret-box.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { keys } from '../stores/redis/keys.ts'
import { RedisAddresses } from './redis/address-store.ts'
import { RedisAlerts } from './redis/alert-store.ts'

/** Records that held an e-mail address, and were removed. */
export interface ErasedRecords {
  /** Alerts and subscriptions. */
  readonly alerts: number
  readonly messages: number
}

/** Messages that one call of Redis answers. */
const READ_AT_ONCE = 200

/**
 * Removes an e-mail address of a tenant from alerts, messages, confirmations, links and opt-outs. An opt-out under another secrets key stays: it
 * names no address. May be repeated, also after a crash.
 */
export async function eraseAddress(
  client: RedisClient,
  secrets: Pick<SecretBox, 'digest'>,
  { tenantId, address: given }: { readonly tenantId: string; readonly address: string },
  nowMs: number,
): Promise<ErasedRecords> {
  const of = { tenantId, address: normalAddress(given) }
  const alerts = new RedisAlerts(client)
  const own = (await alerts.list(tenantId)).filter(
    ({ to, target, unconfirmed }) =>
      to === 'email' && (normalAddress(target) === of.address || unconfirmed === of.address),
  )
  for (const { id } of own) await alerts.remove(tenantId, id, nowMs)
  const messages = await removeMessages(client, of)
  // Last: without an alert nothing confirms the address anew.
  await new RedisAddresses(client, secrets).erase(of)
  return { alerts: own.length, messages }
}

/** The sender takes a removed message from its queue. */
async function removeMessages(
  client: RedisClient,
  { tenantId, address }: { readonly tenantId: string; readonly address: string },
): Promise<number> {
  const all = keys.deliveries(tenantId)
  let removed = 0
  let cursor = '0'
  do {
    const [next, found] = await client.hscan(all, cursor, 'COUNT', READ_AT_ONCE)
    cursor = next
    const ids = found.filter((_, i) => i % 2 === 0 && namesMail(found[i + 1]!, address))
    if (ids.length === 0) continue
    removed += await client.hdel(all, ...ids)
    await client.zrem(keys.deliveryTimes(tenantId), ...ids)
    await client.zrem(keys.finishedDeliveries(tenantId), ...ids)
  } while (cursor !== '0')
  return removed
}

/** Whether a text has an e-mail address, in any case, and not as a part of a longer one. */
export function namesMail(text: string, address: string): boolean {
  const lower = text.toLowerCase()
  for (let at = lower.indexOf(address); at !== -1; at = lower.indexOf(address, at + 1)) {
    const end = at + address.length
    if (!/[\w.+-]/.test(lower.slice(Math.max(0, at - 1), at)) && !/^(?:[\w-]|\.\w)/.test(lower.slice(end, end + 2)))
      return true
  }
  return false
}
