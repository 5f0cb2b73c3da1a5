import { StartupError } from '../run/errors.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { Membership } from '../stores/redis/membership.ts'

const NAME = 'rewrite'
/** The lease of a killed process expires within 3 s. */
const WAIT_MS = 5_000

/**
 * Runs `use` while no other process replaces, removes or copies stored events. Inserts continue.
 * @param what the name of this work, for the message
 * @throws StartupError when another process holds the lease
 */
export async function withRewriteLease<T>(
  client: RedisClient,
  what: string,
  use: (assertHeld: () => void) => Promise<T>,
): Promise<T> {
  const lease = new Membership({ client, name: NAME }).share(0)
  if (!(await lease.acquire(AbortSignal.timeout(WAIT_MS)))) {
    throw new StartupError(
      `${what} must wait: another command replaces or copies stored events; try again when it has ended`,
    )
  }
  try {
    return await use(() => lease.assertHeld())
  } finally {
    await lease.release()
  }
}
