import { TENANT_ROLES, type TenantRole } from '../../../../../schemas/dashboard/roles.ts'

const ROLE_NAMES: Readonly<Record<TenantRole, string>> = {
  viewer: 'Viewer: read',
  member: 'Member: read and change',
  admin: 'Admin: also people, keys and sources',
}

export const ROLE_OPTIONS = TENANT_ROLES.map((value) => ({ value, label: ROLE_NAMES[value] }))
