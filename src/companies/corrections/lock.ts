import { UnavailableError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { Membership } from '../../stores/redis/membership.ts'
import type { CorrectionsLock } from './corrections.ts'

const NAME = 'corrections'
/** The lease of a killed process expires within 3 s. */
const WAIT_MS = 8_000

/**
 * One writer of corrections at a time. Two at once could merge companies in a circle.
 * @throws UnavailableError when another one writes for too long
 */
export function correctionsLock(client: RedisClient): CorrectionsLock {
  let last: Promise<unknown> = Promise.resolve()
  const underLease = async <T>(work: () => Promise<T>): Promise<T> => {
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
  return (work) => {
    const result = last.then(() => underLease(work))
    last = result.catch(() => {})
    return result
  }
}
