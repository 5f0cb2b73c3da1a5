import { TENANT_ROLES, type TenantRole } from '../../../../../schemas/dashboard/roles.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.people.roles

const ROLE_NAMES: Readonly<Record<TenantRole, string>> = {
  viewer: texts.viewer,
  member: texts.member,
  admin: texts.admin,
}

export const ROLE_OPTIONS = TENANT_ROLES.map((value) => ({ value, label: ROLE_NAMES[value] }))
