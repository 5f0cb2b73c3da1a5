import type { Logger } from 'pino'
import { Membership, type MembershipOptions, type ShareLease } from './membership.ts'

interface RewriteLeaseOptions extends Pick<MembershipOptions, 'client' | 'processName'> {
  readonly log?: Logger
}

/** The lease of the process that replaces, removes or copies stored events. Inserts need no lease. */
export function rewriteLease(options: RewriteLeaseOptions): ShareLease {
  return new Membership({ ...options, name: 'rewrite' }).share(0)
}
