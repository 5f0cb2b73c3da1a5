import { NOISE } from '../../../../schemas/classification.ts'
import { type Facts, makeFacts } from '../../facts.ts'
import { nameKey } from '../../rules/company-id.ts'
import type { Organisation } from '../../rules/evidence.ts'
import { fold } from '../../rules/normalise.ts'
import type { OrganisationRow, RowAttributes } from './organisation-row.ts'

/** Longer names are unlikely to be of another company, so they match in any country. */
const ANY_COUNTRY_LENGTH_MIN = 12

interface Known {
  readonly facts: Facts
  readonly country: string | undefined
}

/**
 * Organisations of a table by domain and by name, for networks that the table has no row for. A row states the facts of its
 * organisation, so another network of the same organisation has them too.
 *
 * A name matches when it is written like the table's registered name, or when it has the same key (`nameKey`) and the row is of
 * the address's country. A key of several words matches in any country: `deutsche-boerse` is one company, `delta` are many.
 * Rows of access providers and hosters are left out: their customers carry their names. Two organisations with one key
 * in one country match neither.
 */
export class OrganisationsByName {
  readonly #byDomain = new Map<string, Facts>()
  readonly #byText = new Map<string, Facts>()
  readonly #byKey = new Map<string, Known[]>()

  constructor(
    rows: Iterable<OrganisationRow>,
    organisationOf: (attributes: RowAttributes) => Organisation | undefined,
  ) {
    const seen = new Map<string, Facts>()
    for (const { attributes } of rows) {
      const organisation = organisationOf(attributes)
      const { domain } = organisation ?? {}
      if (organisation === undefined || domain === undefined || !isOrganisation(attributes)) continue
      let facts = seen.get(domain)
      if (facts === undefined) {
        facts = factsOf(attributes, organisation)
        seen.set(domain, facts)
      }
      this.#byDomain.set(domain, facts)
      this.#learn(attributes, facts)
    }
  }

  /**
   * @param country code of the address's country, upper case
   */
  find({ name, domain }: Organisation, country: string | undefined): Facts | undefined {
    if (domain !== undefined) return this.#byDomain.get(domain)
    if (name === undefined || this.#byKey.size === 0) return undefined
    return this.#byText.get(fold(name)) ?? this.#ofKey(nameKey(name), country)
  }

  #ofKey(key: string, country: string | undefined): Facts | undefined {
    const known = this.#byKey.get(key)
    if (known === undefined) return undefined
    const local = distinct(known.filter((row) => row.country === undefined || row.country === country))
    if (local.length > 0) return local.length === 1 ? local[0] : undefined
    const all = distinct(known)
    const isUnmistakable = key.includes('-') && key.length >= ANY_COUNTRY_LENGTH_MIN && !isPublic(all[0]!)
    return all.length === 1 && isUnmistakable ? all[0] : undefined
  }

  #learn({ business_name, org_name, country_code }: RowAttributes, facts: Facts): void {
    if (org_name !== undefined) this.#byText.set(fold(String(org_name)), facts)
    for (const name of [business_name, org_name]) {
      const key = name === undefined ? '' : nameKey(String(name))
      if (key === '') continue
      const known = this.#byKey.get(key) ?? []
      const country = country_code as string | undefined
      if (known.some((row) => row.facts === facts && row.country === country)) continue
      this.#byKey.set(key, [...known, { facts, country }])
    }
  }
}

function isOrganisation({ classification }: RowAttributes): boolean {
  return classification !== undefined && !NOISE.has(classification)
}

/** Every country has a "Ministry of Finance". */
function isPublic({ evidence }: Facts): boolean {
  return evidence.explicit === 'government'
}

function distinct(known: readonly Known[]): Facts[] {
  return [...new Set(known.map(({ facts }) => facts))]
}

/** The facts about the organisation, without those about one of its networks. */
function factsOf(attributes: RowAttributes, organisation: Organisation): Facts {
  const { business_name, domain, industry, industry_category, description, classification } = attributes
  const data = { business_name, domain: domain ?? organisation.domain, industry, industry_category, description }
  const known = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined))
  return makeFacts(known, { explicit: classification! }, organisation, 'as')
}
