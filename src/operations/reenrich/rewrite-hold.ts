import type { RedisClient } from '../../stores/redis/connect.ts'
import type { ShareLease } from '../../stores/redis/membership.ts'
import { ReenrichJobs } from './jobs/job-store.ts'
import type { Staged } from './ports.ts'

/** The right of one process to replace, remove or copy stored events. */
export interface RewriteHold {
  /** @throws LeaseLostError when another process may have it */
  assertHeld(): void
  /** Call it when all events of a copy are replaced, before the copy is dropped: a job may have made it. */
  onReplaced(staged: Staged): Promise<void>
}

export function rewriteHold(client: RedisClient, lease: ShareLease): RewriteHold {
  const jobs = new ReenrichJobs(client).under(lease)
  return { assertHeld: () => lease.assertHeld(), onReplaced: (staged) => jobs.noteReplaced(staged) }
}
