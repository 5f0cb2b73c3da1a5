import type { Tenant } from '../../tenants/tenancy.ts'
import type { Grant, Session, Sessions } from './sessions.ts'

/** Decides which tenants a session may see. */
export class Access {
  readonly #sessions: Pick<Sessions, 'isValid'>
  readonly #findTenant: (id: string) => Promise<Tenant | undefined>

  constructor(sessions: Pick<Sessions, 'isValid'>, findTenant: (id: string) => Promise<Tenant | undefined>) {
    this.#sessions = sessions
    this.#findTenant = findTenant
  }

  /** The tenant, if the session may see it, it exists, and it is not being deleted. */
  async tenantOf({ tenant: own }: Grant, id: string): Promise<Tenant | undefined> {
    const tenant = own === undefined || own.id === id ? await this.#findTenant(id) : undefined
    const isIt = tenant !== undefined && (own === undefined || own.createdAt === tenant.createdAt)
    return isIt && !tenant.deleting ? tenant : undefined
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
