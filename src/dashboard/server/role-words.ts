import type { TenantRole } from '../../../schemas/dashboard/roles.ts'

/** A role of a tenant, in an invitation: what the person becomes, and may do. */
export const ROLE_WORDS: Readonly<Record<TenantRole, string>> = {
  viewer: 'a viewer, who reads',
  member: 'a member, who reads and changes',
  admin: 'an admin, who also manages people, keys and sources',
}
