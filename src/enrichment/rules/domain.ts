import { parse } from 'tldts'
import type { Classification } from '../../../schemas/classification.ts'

/** Characters of a domain name (RFC 1035 section 2.3.4). */
export const NAME_MAX = 253

/** What a host or domain name says of its holder. */
export interface DomainFinding {
  readonly classification: Classification
  /** The part of the name that decided. */
  readonly part: string
}

/**
 * The registrable part of a domain by the Public Suffix List, lower case. Suffixes that companies offer to others
 * (`github.io`) count, so that the organisations below them stay apart; such a suffix alone is the company's own
 * domain. Undefined for addresses, single labels and the suffixes of registries.
 */
export function registrableDomain(domain: string): string | undefined {
  return parse(domain, { allowPrivateDomains: true }).domain ?? parse(domain).domain ?? undefined
}

/**
 * The registrable part of a host name. Here only suffixes of registries count: the host
 * `ec2-192-0-2-1.compute-1.amazonaws.com` is one of `amazonaws.com`.
 */
export function registrableDomainOfHost(hostname: string): string | undefined {
  return parse(hostname).domain ?? undefined
}

/** The domain in what people put into a domain column (`Example.com.`, `https://example.com/`), lower case. */
export function domainIn(text: string): string | undefined {
  const hostname = hostnameIn(text)
  return hostname === undefined || registrableDomain(hostname) === undefined ? undefined : hostname
}

/** The host name in such a text, lower case. */
export function hostnameIn(text: string): string | undefined {
  const { hostname, isIp } = parse(text)
  return hostname === null || isIp === true || !hostname.includes('.') ? undefined : hostname
}

/** The label that its holder chose: `acme` of `www.acme.co.uk`; undefined when there is none. */
export function ownLabel(name: string): string | undefined {
  if (name.length > NAME_MAX) return undefined
  return parse(name, { validateHostname: false }).domainWithoutSuffix ?? undefined
}

/** The labels of a name, lower case; none when it is too long to be one. */
export function labelsOf(name: string): string[] {
  if (name.length > NAME_MAX) return []
  return name
    .toLowerCase()
    .split('.')
    .filter((label) => label !== '')
}

/** A name and the names above it, the longest first: `a.b.c`, `b.c`, `c`. */
export function suffixesOf(labels: readonly string[]): string[] {
  return labels.map((_, i) => labels.slice(i).join('.'))
}
