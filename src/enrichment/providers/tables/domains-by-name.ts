import { setImmediate } from 'node:timers/promises'
import { slug } from '../../rules/company-id.ts'
import type { Organisation } from '../../rules/evidence.ts'
import { type OrganisationRow, organisationIn } from './organisation-row.ts'

const ROWS_AT_A_TIME = 5_000

/** Domains of organisations by the slugs of their names, from the rows that hold both. */
export async function domainsByName(rows: readonly OrganisationRow[]): Promise<Map<string, string>> {
  const domains = new Map<string, string>()
  for (const [i, { attributes }] of rows.entries()) {
    if (i % ROWS_AT_A_TIME === 0) await setImmediate()
    const organisation = organisationIn(attributes)
    if (organisation?.name === undefined || organisation.domain === undefined) continue
    const key = slug(organisation.name)
    if (!domains.has(key)) domains.set(key, organisation.domain)
  }
  return domains
}

/** A row without a domain gets the one of the first row with the same name, for the organisation's identity only. */
export function withDomain(
  organisation: Organisation | undefined,
  domains: ReadonlyMap<string, string>,
): Organisation | undefined {
  if (organisation?.name === undefined || organisation.domain !== undefined) return organisation
  return { name: organisation.name, domain: domains.get(slug(organisation.name)) }
}
