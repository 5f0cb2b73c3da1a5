import { isNameOfOne, nameKey } from '../../rules/company-id.ts'
import { slug } from '../../rules/normalise.ts'
import { organisationIn, type RowAttributes } from './organisation-row.ts'

interface Named {
  readonly domain: string
  /** Undefined when the row states none. */
  readonly country: string | undefined
}

/**
 * Domains of organisations by the slugs of their names, from rows with both. Organisations of two countries share a name only if it
 * can be of no other: LEARN of Texas is not the one of Sri Lanka.
 */
export class DomainsByName {
  /** The first domain of each country. */
  readonly #domains = new Map<string, Named[]>()
  readonly #names = new Set<string>()

  learn(attributes: RowAttributes): void {
    const { domain, country_code: country } = attributes
    const name = nameOf(attributes)
    if (domain === undefined || name === undefined) return
    const id = `${country ?? ''} ${name}`
    // The first domain of a name wins.
    if (this.#names.has(id)) return
    const organisation = organisationIn(attributes)
    if (organisation?.name === undefined || organisation.domain === undefined) return
    this.#names.add(id)
    const key = slug(organisation.name)
    const known = this.#domains.get(key) ?? []
    known.push({ domain: organisation.domain, country: country as string | undefined })
    this.#domains.set(key, known)
  }

  /** The domain for the id of a row's organisation that has only a name: the one of the first row with the same name. */
  domainOf(attributes: RowAttributes): string | undefined {
    const name = attributes.domain === undefined ? nameOf(attributes) : undefined
    if (name === undefined) return undefined
    return this.#localDomainOf(attributes, name) ?? this.#domainAbroad(name)
  }

  /** Whether no later row changes the result of `domainOf`. */
  isSettled(attributes: RowAttributes): boolean {
    const name = attributes.domain === undefined ? nameOf(attributes) : undefined
    return name === undefined || this.#localDomainOf(attributes, name) !== undefined
  }

  #localDomainOf({ country_code: own }: RowAttributes, name: string): string | undefined {
    return this.#domains
      .get(slug(name))
      ?.find(({ country }) => own === undefined || country === undefined || country === own)?.domain
  }

  #domainAbroad(name: string): string | undefined {
    return isNameOfOne(nameKey(name)) ? this.#domains.get(slug(name))?.[0]?.domain : undefined
  }
}

function nameOf({ business_name: business, org_name: org }: RowAttributes): string | undefined {
  return (business ?? org) as string | undefined
}
