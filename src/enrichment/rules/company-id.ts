import { registrableDomain } from './domain.ts'
import type { Organisation } from './evidence.ts'

/** Longest slug, in characters. */
const SLUG_MAX = 128

/**
 * The id of an organisation: its registrable domain, or else a slug of its name; `''` without either. Both come from one
 * record. So all addresses with that record belong to one organisation, even if other providers add details for some.
 */
export function companyIdOf(organisation: Organisation | undefined): string {
  if (organisation === undefined) return ''
  const { domain, name } = organisation
  if (domain !== undefined) return registrableDomain(domain) ?? domain.toLowerCase()
  return name === undefined ? '' : slug(name)
}

/** Letters and digits of any script in lower case, without accents, joined by single hyphens. */
export function slug(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/['’]/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|(?<!-)-+$/g, '')
    .slice(0, SLUG_MAX)
    .normalize('NFC')
}
