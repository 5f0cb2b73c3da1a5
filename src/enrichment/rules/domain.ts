import { parse } from 'tldts'

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
