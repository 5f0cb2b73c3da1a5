import { NOISE } from '../../../../schemas/classification.ts'
import { BoundedCache } from '../../bounded-cache.ts'
import { type Facts, makeFacts } from '../../facts.ts'
import { isNameOfOne, nameKey } from '../../rules/company-id.ts'
import type { Organisation } from '../../rules/evidence.ts'
import { fold } from '../../rules/normalise.ts'
import { organisationIn } from './organisation-row.ts'
import type { PackedRow, PackedRows } from './packed-rows.ts'
import { TextIndex } from './text-index.ts'

const FACTS_MAX = 2_000

interface Candidate {
  readonly domain: string
  readonly row: PackedRow
}

/** Numbers of rows by the names of their organisation. */
export interface NameIndexes {
  readonly domains: TextIndex
  /** By folded `org_name`. */
  readonly texts: TextIndex
  /** By `nameKey`. */
  readonly keys: TextIndex
}

/** @param rows all rows of a table, in the order of their numbers */
export function indexNames(rows: readonly PackedRow[]): NameIndexes {
  const domains: [string, number][] = []
  const texts: [string, number][] = []
  const keys: [string, number][] = []
  const seen = new Set<string>()
  const known = new Map<string, string>()
  const keyOf = (name: string) => {
    const key = known.get(name) ?? nameKey(name)
    known.set(name, key)
    return key
  }
  const add = (entries: [string, number][], kind: string, text: string, number: number) => {
    if (text === '' || seen.has(kind + text)) return
    seen.add(kind + text)
    entries.push([text, number])
  }
  for (const [number, row] of rows.entries()) {
    const domain = domainOf(row)
    if (domain === undefined) continue
    const { business_name: business, org_name: org, country_code: country } = row.attributes
    add(domains, '', domain, number)
    if (org !== undefined) add(texts, `${domain} `, fold(String(org)), number)
    for (const name of new Set([business, org])) {
      if (name !== undefined) add(keys, `${domain} ${country} `, keyOf(String(name)), number)
    }
  }
  return { domains: TextIndex.of(domains), texts: TextIndex.of(texts), keys: TextIndex.of(keys) }
}

/**
 * Organisations of a table by domain and by name, for networks that the table has no row for. A row states the facts of its
 * organisation, so another network of the same organisation has them too.
 *
 * A name matches when it has the same key (`nameKey`) as one in the table and the row is of the address's country. A company
 * matches in any country by its whole registered name, by a key of several words, and by a brand known worldwide:
 * `deutsche-boerse` is one company, `delta` are many.
 * Rows of access providers and hosters are left out: their customers carry their names. Two organisations with one key
 * in one country match neither.
 */
export class OrganisationsByName {
  readonly #rows: PackedRows
  readonly #names: NameIndexes
  /** By domain. */
  readonly #facts: BoundedCache<string, Facts> = new BoundedCache(FACTS_MAX)

  constructor(rows: PackedRows, names: NameIndexes) {
    this.#rows = rows
    this.#names = names
  }

  /** @param country code of the address's country, upper case; undefined when unknown */
  find({ name, domain }: Organisation, country: string | undefined): Facts | undefined {
    if (domain !== undefined) {
      return this.#factsOf(
        this.#candidates(this.#names.domains, domain).find((candidate) => candidate.domain === domain),
      )
    }
    if (name === undefined) return undefined
    const text = fold(name)
    const same = this.#candidates(this.#names.texts, text).filter(
      ({ row }) => fold(String(row.attributes.org_name)) === text,
    )
    if (same.length > 0) return this.#factsOf(inCountry(same, country, true))
    const key = nameKey(name)
    return key === '' ? undefined : this.#factsOf(this.#ofKey(key, country))
  }

  #ofKey(key: string, country: string | undefined): Candidate | undefined {
    const known = this.#candidates(this.#names.keys, key).filter(({ row }) =>
      namesOf(row).some((name) => nameKey(name) === key),
    )
    return inCountry(known, country, isNameOfOne(key))
  }

  #candidates(index: TextIndex, text: string): Candidate[] {
    return index.find(text).flatMap((number) => {
      const row = this.#rows.get(number)
      const domain = domainOf(row)
      return domain === undefined ? [] : [{ domain, row }]
    })
  }

  #factsOf(candidate: Candidate | undefined): Facts | undefined {
    if (candidate === undefined) return undefined
    let facts = this.#facts.get(candidate.domain)
    if (facts === undefined) {
      facts = factsOf(candidate)
      this.#facts.set(candidate.domain, facts)
    }
    return facts
  }
}

/** The domain of a row's organisation; undefined for access providers and hosters, and without one. */
function domainOf({ attributes, domain }: PackedRow): string | undefined {
  const { classification } = attributes
  if (classification === undefined || NOISE.has(classification)) return undefined
  return organisationIn(attributes)?.domain ?? domain
}

function namesOf({ attributes: { business_name, org_name } }: PackedRow): string[] {
  return [business_name, org_name].filter((name) => name !== undefined).map(String)
}

/** The candidate of the country, or else the only one if the name can be of no other company. */
function inCountry(
  known: readonly Candidate[],
  country: string | undefined,
  isUnmistakable: boolean,
): Candidate | undefined {
  const local = known.filter(({ row: { attributes } }) => (attributes.country_code ?? country) === country)
  if (local.length > 0) return theOnlyOrganisation(local)
  // Every country has a "Ministry of Finance", and several have a "Central University".
  const isCompany = known[0]?.row.attributes.classification === 'business'
  return isUnmistakable && isCompany ? theOnlyOrganisation(known) : undefined
}

/** The candidate if all are of one organisation. */
function theOnlyOrganisation(candidates: readonly Candidate[]): Candidate | undefined {
  const [first] = candidates
  return candidates.every(({ domain }) => domain === first?.domain) ? first : undefined
}

/** The facts about the organisation, without those about one of its networks. */
function factsOf({ domain, row: { attributes } }: Candidate): Facts {
  const { business_name, industry, industry_category, description, classification } = attributes
  const data = { business_name, domain: attributes.domain ?? domain, industry, industry_category, description }
  const known = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined))
  const name = business_name ?? attributes.org_name
  const organisation = { name: name === undefined ? undefined : String(name), domain }
  return makeFacts(known, { explicit: classification! }, organisation, 'as')
}
