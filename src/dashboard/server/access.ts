import { type DashboardRole, isAtLeast } from '../../../schemas/dashboard/roles.ts'
import type { Tenant } from '../../tenants/tenancy.ts'
import type { Grant, Session, Sessions } from './sessions.ts'

/** Why a role may not make a call; undefined: it may. A higher role may do all that a lower one may. */
export function refusalOf(role: DashboardRole, needed: DashboardRole): string | undefined {
  return isAtLeast(role, needed) ? undefined : REFUSALS[needed]
}

const REFUSALS: Readonly<Record<DashboardRole, string>> = {
  viewer: 'sign in first',
  member: 'you may read this workspace, but not change it: ask one of its admins for the role of a member',
  admin: 'only admins of this workspace may do this: ask one of them',
  operator: 'only operators may do this',
}

type FindTenant = (id: string) => Promise<Tenant | undefined>

/**
 * The tenant, if the session may see it, it exists, and it is not being deleted. People of a tenant that shows the sample data see
 * the tenant that holds them, too.
 */
export async function visibleTenant(find: FindTenant, { tenant: own }: Grant, id: string): Promise<Tenant | undefined> {
  const tenant = await find(id)
  if (tenant === undefined || tenant.deleting) return undefined
  if (own === undefined || (own.id === id && own.createdAt === tenant.createdAt)) return tenant
  if (tenant.sampleUntil === undefined) return undefined
  const mine = await find(own.id)
  return mine?.createdAt === own.createdAt && mine.showsSample && !mine.deleting ? tenant : undefined
}

/** Decides which tenants a session may see. */
export class Access {
  readonly #sessions: Pick<Sessions, 'isValid'>
  readonly #findTenant: FindTenant

  constructor(sessions: Pick<Sessions, 'isValid'>, findTenant: FindTenant) {
    this.#sessions = sessions
    this.#findTenant = findTenant
  }

  /** See `visibleTenant`. */
  tenantOf(grant: Grant, id: string): Promise<Tenant | undefined> {
    return visibleTenant(this.#findTenant, grant, id)
  }

  /** Whether the grant still works: the tenant of a member may be deleted. */
  async opens(grant: Grant): Promise<boolean> {
    return grant.tenant === undefined || (await this.tenantOf(grant, grant.tenant.id)) !== undefined
  }

  /** Whether a session is still valid and may still see a tenant. */
  async isValid(session: Session, tenant: Tenant | undefined): Promise<boolean> {
    if (!(await this.#sessions.isValid(session))) return false
    return tenant === undefined || (await this.tenantOf(session, tenant.id))?.createdAt === tenant.createdAt
  }
}
