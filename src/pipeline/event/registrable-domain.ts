import { parse } from 'tldts'

/**
 * The registrable part of a domain by the Public Suffix List, lower case. Private suffixes (`github.io`) count, so that
 * the organisations below them stay separate. A private suffix alone is the domain of its company. Undefined for
 * addresses, single labels and the suffixes of registries.
 */
export function registrableDomain(domain: string): string | undefined {
  return parse(domain, { allowPrivateDomains: true }).domain ?? parse(domain).domain ?? undefined
}
