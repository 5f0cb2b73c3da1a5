import type { Tenant } from '../../tenants/tenancy.ts'
import type { Grant, Session, Sessions } from './sessions.ts'

/** Who sees what, as it is now. */
export class Access {
  readonly #sessions: Pick<Sessions, 'goesOn'>
  readonly #findTenant: (id: string) => Promise<Tenant | undefined>

  constructor(sessions: Pick<Sessions, 'goesOn'>, findTenant: (id: string) => Promise<Tenant | undefined>) {
    this.#sessions = sessions
    this.#findTenant = findTenant
  }

  /** A tenant that may be seen; undefined when it may not, or is not there, or is being deleted. */
  async tenantOf({ tenant: own }: Grant, id: string): Promise<Tenant | undefined> {
    const tenant = own === undefined || own.id === id ? await this.#findTenant(id) : undefined
    const isIt = tenant !== undefined && (own === undefined || own.createdAt === tenant.createdAt)
    return isIt && !tenant.deleting ? tenant : undefined
  }

  /** Whether there is anything to be seen: the tenant of a member may be gone. */
  async opens(grant: Grant): Promise<boolean> {
    return grant.tenant === undefined || (await this.tenantOf(grant, grant.tenant.id)) !== undefined
  }

  /** Whether what was let through once still is. @param tenant at which the session looks, if at one */
  async goesOn(session: Session, tenant: Tenant | undefined): Promise<boolean> {
    if (!(await this.#sessions.goesOn(session))) return false
    return tenant === undefined || (await this.tenantOf(session, tenant.id))?.createdAt === tenant.createdAt
  }
}
