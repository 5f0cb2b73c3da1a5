import { parse } from 'tldts'
import type { Classification } from '../../../schemas/classification.ts'
import { registrableDomain } from '../../pipeline/event/registrable-domain.ts'

export { registrableDomain }

/** Longest domain name, in characters (RFC 1035 section 2.3.4). */
export const NAME_MAX = 253

/** The class that a host or domain name implies. */
export interface DomainFinding {
  readonly classification: Classification
  /** The part of the name that decided. */
  readonly part: string
}

/**
 * The registrable part of a host name. Only suffixes of registries count here: the domain of
 * `ec2-192-0-2-1.compute-1.amazonaws.com` is `amazonaws.com`.
 */
export function registrableDomainOfHost(hostname: string): string | undefined {
  return parse(hostname).domain ?? undefined
}

/** The domain in text that people put into a domain column (`Example.com.`, `https://example.com/`), lower case. */
export function domainIn(text: string): string | undefined {
  const hostname = hostnameIn(text)
  return hostname === undefined || registrableDomain(hostname) === undefined ? undefined : hostname
}

/** As `domainIn`, for a host name. */
export function hostnameIn(text: string): string | undefined {
  const { hostname, isIp } = parse(text)
  return hostname === null || isIp === true || !hostname.includes('.') ? undefined : hostname
}

/** The label that the holder registered: `acme` of `www.acme.co.uk`. */
export function ownLabel(name: string): string | undefined {
  if (name.length > NAME_MAX) return undefined
  return parse(name, { validateHostname: false }).domainWithoutSuffix ?? undefined
}

/** The labels of a name, lower case; empty when the name is too long. */
export function labelsOf(name: string): string[] {
  if (name.length > NAME_MAX) return []
  return name
    .toLowerCase()
    .split('.')
    .filter((label) => label !== '')
}

/** A name and its parents, longest first: `a.b.c`, `b.c`, `c`. */
export function suffixesOf(labels: readonly string[]): string[] {
  return labels.map((_, i) => labels.slice(i).join('.'))
}
