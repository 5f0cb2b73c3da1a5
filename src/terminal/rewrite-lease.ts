import { StartupError } from '../run/errors.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { Membership } from '../stores/redis/membership.ts'

const NAME = 'rewrite'
/** A lease of somebody who was killed runs out within 3 s. */
const WAIT_MS = 5_000

/**
 * Runs `use` while nobody else replaces or removes stored events, or copies them. Inserts go on.
 * @param what of ours, for the message
 * @throws StartupError when somebody else does
 */
export async function whileNobodyRewrites<T>(
  client: RedisClient,
  what: string,
  use: (assertHeld: () => void) => Promise<T>,
): Promise<T> {
  const lease = new Membership({ client, name: NAME }).share(0)
  if (!(await lease.acquire(AbortSignal.timeout(WAIT_MS)))) {
    throw new StartupError(
      `${what} has to wait: stored events are being replaced or copied; try again when that has ended`,
    )
  }
  try {
    return await use(() => lease.assertHeld())
  } finally {
    await lease.release()
  }
}
