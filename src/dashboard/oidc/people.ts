import type { TenantStore } from '../../tenants/stores.ts'
import { findPeople, type PersonOfTenant, type PersonStore } from '../server/people.ts'
import type { OidcIdentity } from './provider.ts'
import { OidcRefusal } from './refusal.ts'

interface OidcPeopleOptions {
  readonly tenants: Pick<TenantStore, 'listTenants'>
  readonly people: Pick<PersonStore, 'listPeople' | 'bindAccount'>
}

/**
 * Which people of the lists an account signs in. The first time, the e-mail address finds them, and ties them to the account; from then on,
 * only the account does. So the new owner of an address does not become the person who had it before.
 */
export class OidcPeople {
  readonly #options: OidcPeopleOptions

  constructor(options: OidcPeopleOptions) {
    this.#options = options
  }

  /** At least one, and at most one of a tenant. @param name of the provider @throws OidcRefusal when there is none */
  async of(identity: OidcIdentity, name: string): Promise<PersonOfTenant[]> {
    const { tenants, people } = this.#options
    const { issuer, subject, email } = identity
    let isTaken = false
    const found = await findPeople(tenants, people, (all) => {
      const own = all.find(({ account }) => account?.issuer === issuer && account.subject === subject)
      if (own !== undefined) return own
      const addressed = all.filter((person) => person.email === email)
      const free = addressed.find(({ account }) => account?.issuer !== issuer)
      isTaken ||= free === undefined && addressed.length > 0
      return free
    })
    const bound = await Promise.all(
      found.map(async ({ tenant, person }) => {
        const { account } = person
        if (account?.issuer === issuer && account.subject === subject) return true
        return await people.bindAccount(tenant, person.id, email, { issuer, subject })
      }),
    )
    const own = found.filter((_, i) => bound[i])
    if (own.length > 0) return own
    if (isTaken || found.length > 0) {
      const remedy = 'If you are the new owner of the address, ask an admin to remove that person and invite you again.'
      throw new OidcRefusal(
        403,
        `The person with the address ${email} signs in with another account of ${name}. ${remedy}`,
      )
    }
    throw new OidcRefusal(
      403,
      `No workspace here has invited ${email}. Ask an admin of a workspace to invite this address.`,
    )
  }
}
