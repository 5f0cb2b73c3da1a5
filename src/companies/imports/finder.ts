import { bareName } from '../../enrichment/rules/business-name.ts'
import { nameKey } from '../../enrichment/rules/company-id.ts'
import { registrableDomain } from '../../enrichment/rules/domain.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import type { Corrected } from '../corrected.ts'
import { companiesSql } from '../list.ts'

/** A company that has visited. */
export interface FoundCompany {
  readonly company_id: string
  readonly name: string
  readonly full_name: string
  readonly domain: string
  /** Ids, domains and names of companies that were merged into it. */
  readonly merged: readonly string[]
}

/** The company of a row, or why there is none. `visited` undefined: it has not visited yet. */
export type Match =
  | { readonly company_id: string; readonly visited: FoundCompany | undefined }
  | { readonly reason: string }

const SHOWN_MAX = 3

/** The company ids, domains and names under which rows look for a company. */
export interface Wanted {
  /** Registrable domains. */
  readonly domains: ReadonlySet<string>
  readonly names: ReadonlySet<string>
}

const lower = (text: string) => text.trim().toLowerCase()
/** Spellings of a name: as it is, and without legal form. */
const spellings = (name: string) => [...new Set([lower(name), lower(bareName(name))])].filter((text) => text !== '')

/** SQL of the companies that may be wanted, and of all that others were merged into: rows of `FoundCompany`. */
export function wantedSql(corrected: Corrected, { domains, names }: Wanted): string {
  const among = (column: string, values: readonly string[]) =>
    values.length === 0 ? [] : [`${column} IN (${values.map(quote).join()})`]
  const spelled = [...new Set([...names].flatMap(spellings))]
  const conditions = [
    ...among(
      'company_id',
      [...new Set([...domains, ...[...names].map(nameKey)])].filter((id) => id !== ''),
    ),
    ...among('domain', [...domains]),
    ...among('lowerUTF8(name)', spelled),
    ...among('lowerUTF8(full_name)', spelled),
    'notEmpty(merged_texts)',
  ]
  return `
    SELECT company_id, name, full_name, domain, arrayFlatten(arrayMap(text -> splitByChar('\\n', text), merged_texts)) AS merged
    FROM (${companiesSql(corrected)})
    WHERE ${conditions.join(' OR ')}`
}

/** Finds companies by domain and name. */
export class CompanyFinder {
  readonly #targets: ReadonlyMap<string, string>
  readonly #byId = new Map<string, FoundCompany>()
  readonly #byDomain = new Map<string, Set<FoundCompany>>()
  readonly #byName = new Map<string, Set<FoundCompany>>()

  constructor({ merged }: Corrected, companies: Iterable<FoundCompany>) {
    this.#targets = new Map(merged.map(([id, target]) => [id, target]))
    for (const company of companies) {
      this.#byId.set(company.company_id, company)
      const texts = [...company.merged, company.domain].filter((text) => text !== '')
      for (const text of texts) add(this.#byDomain, registrableDomain(text) ?? lower(text), company)
      for (const text of [company.name, company.full_name, ...company.merged]) add(this.#byName, lower(text), company)
    }
  }

  /** @param domain registrable */
  byDomain(domain: string): Match {
    const id = this.#targets.get(domain) ?? domain
    const own = this.#byId.get(id)
    if (own !== undefined || id !== domain) return { company_id: id, visited: own }
    const [first, ...others] = this.#byDomain.get(domain) ?? []
    if (first === undefined) return { company_id: domain, visited: undefined }
    if (others.length === 0) return { company_id: first.company_id, visited: first }
    return {
      reason: `several companies have the domain ${domain}: ${idsOf([first, ...others])}. Merge them, or give a name`,
    }
  }

  byName(name: string): Match {
    const named = new Set(spellings(name).flatMap((text) => [...(this.#byName.get(text) ?? [])]))
    const keyed = this.#byId.get(this.#targets.get(nameKey(name)) ?? nameKey(name))
    if (keyed !== undefined) named.add(keyed)
    const exact = [...named].filter((company) => lower(company.name) === lower(name))
    const [first, ...others] = exact.length > 0 ? exact : [...named]
    if (first === undefined) {
      return {
        reason: 'no company with this name has visited yet. Add its domain, and it gets its facts with its first visit',
      }
    }
    if (others.length === 0) return { company_id: first.company_id, visited: first }
    return { reason: `several companies have this name: ${idsOf([first, ...others])}. Add the domain` }
  }
}

function add(map: Map<string, Set<FoundCompany>>, key: string, company: FoundCompany): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, new Set([company]))
  else known.add(company)
}

function idsOf(companies: readonly FoundCompany[]): string {
  const ids = companies.map(({ company_id }) => company_id).sort()
  const more = ids.length > SHOWN_MAX ? ` and ${ids.length - SHOWN_MAX} more` : ''
  return `${ids.slice(0, SHOWN_MAX).join(', ')}${more}`
}
