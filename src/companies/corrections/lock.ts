import { InputError, UnavailableError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { Membership } from '../../stores/redis/membership.ts'
import { RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import type { CorrectionsLock } from './corrections.ts'

const NAME = 'corrections'
/** The lease of a killed process expires within 3 s. */
const WAIT_MS = 8_000

/**
 * One writer of corrections at a time. Two at once could merge companies in a circle.
 * @throws UnavailableError when another one writes for too long; InputError when the tenant is gone or is being deleted
 */
export function correctionsLock(client: RedisClient): CorrectionsLock {
  const tenants = new RedisTenantStore(client)
  let last: Promise<unknown> = Promise.resolve()
  return (tenantId, work) => {
    const result = last.then(() =>
      underLease(client, async () => {
        const tenant = await tenants.getTenant(tenantId)
        if (tenant === undefined) throw new InputError(`unknown tenant ${JSON.stringify(tenantId)}`)
        if (tenant.deleting) throw new InputError(`tenant ${tenantId} is being deleted`)
        return await work()
      }),
    )
    last = result.catch(() => {})
    return result
  }
}

/**
 * Waits until corrections that began before are written. After a tenant is marked as being deleted, none of it comes later.
 * @throws UnavailableError when one takes too long
 */
export async function correctionsWritten(client: RedisClient): Promise<void> {
  await underLease(client, async () => {})
}

async function underLease<T>(client: RedisClient, work: () => Promise<T>): Promise<T> {
  const lease = new Membership({ client, name: NAME }).share(0)
  if (!(await lease.acquire(AbortSignal.timeout(WAIT_MS)))) {
    throw new UnavailableError('others are correcting companies: try again in a moment')
  }
  try {
    return await work()
  } finally {
    await lease.release()
  }
}
