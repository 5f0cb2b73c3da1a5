import { type DomainFinding, labelsOf, suffixesOf } from './domain.ts'
import { classesByEntry, once, readSections } from './sections.ts'

export const providerDomains = once(() => classesByEntry(readSections('provider-domains.txt')))

/** Names under the domain of a known provider. */
export function findProviderDomain(name: string): DomainFinding | undefined {
  const known = providerDomains()
  for (const part of suffixesOf(labelsOf(name))) {
    const classification = known.get(part)
    if (classification !== undefined) return { classification, part }
  }
  return undefined
}
