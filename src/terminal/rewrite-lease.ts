import { type RewriteHold, rewriteHold } from '../operations/reenrich/rewrite-hold.ts'
import { LeaseLostError, StartupError } from '../run/errors.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { rewriteLease } from '../stores/redis/rewrite-lease.ts'

/** The lease of a killed process expires within 3 s. */
const WAIT_MS = 5_000

/**
 * Runs `use` while no other process replaces, removes or copies stored events. Inserts continue.
 * @param what the name of this work, for the message
 * @throws StartupError when another process holds the lease, or may have got it meanwhile
 */
export async function withRewriteLease<T>(
  client: RedisClient,
  what: string,
  use: (hold: RewriteHold) => Promise<T>,
): Promise<T> {
  const lease = rewriteLease({ client })
  if (!(await lease.acquire(AbortSignal.timeout(WAIT_MS)))) {
    throw new StartupError(
      `${what} must wait: another command replaces or copies stored events, or a job applies rules to them (./ipid status); try again when it has ended`,
    )
  }
  try {
    return await use(rewriteHold(client, lease))
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error
    const reason = 'for 3 s this process stood still, or Redis did not answer, so that another command may have begun'
    throw new StartupError(`${what} is not finished: ${reason}; run it again`, { cause: error })
  } finally {
    await lease.release()
  }
}
