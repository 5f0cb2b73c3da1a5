import type { Organisation } from '../../rules/evidence.ts'
import { slug } from '../../rules/normalise.ts'
import { organisationIn, type RowAttributes } from './organisation-row.ts'

/** Domains of organisations by the slugs of their names, from rows with both. */
export class DomainsByName {
  readonly #domains = new Map<string, string>()
  readonly #names = new Set<string>()

  learn(attributes: RowAttributes): void {
    const { domain, business_name: business, org_name: org } = attributes
    const name = business ?? org
    // The first domain of a name wins.
    if (domain === undefined || typeof name !== 'string' || this.#names.has(name)) return
    const organisation = organisationIn(attributes)
    if (organisation?.name === undefined || organisation.domain === undefined) return
    this.#names.add(name)
    const key = slug(organisation.name)
    if (!this.#domains.has(key)) this.#domains.set(key, organisation.domain)
  }

  /** Gives an organisation without a domain the one of the first row with the same name, for its id only. */
  complete(organisation: Organisation | undefined): Organisation | undefined {
    if (organisation?.name === undefined || organisation.domain !== undefined) return organisation
    return { name: organisation.name, domain: this.domainOf(organisation.name) }
  }

  domainOf(name: string): string | undefined {
    return this.#domains.size === 0 ? undefined : this.#domains.get(slug(name))
  }
}
