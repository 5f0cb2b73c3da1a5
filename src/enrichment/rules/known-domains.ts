import type { Classification } from '../../../schemas/classification.ts'
import { type DomainFinding, labelsOf, suffixesOf } from './domain.ts'
import { classesByEntry, once, readSections } from './sections.ts'

/** `data/reserved-domains.txt` by its headings. */
interface Reserved {
  /** Labels that countries reserve for one kind of holder. */
  readonly labels: ReadonlyMap<string, Classification>
  /** Countries that reserve `go` for their government. */
  readonly goCountries: ReadonlyMap<string, Classification>
  /** Names that only look reserved. */
  readonly open: ReadonlySet<string>
  /** Names that count for all names below them. */
  readonly names: ReadonlyMap<string, Classification>
}

/** Reserved top-level domains. */
const TOP_LEVELS: readonly string[] = ['edu', 'gov', 'mil']

export const reservedDomains = once((): Reserved => {
  const sections = readSections('reserved-domains.txt')
  const under = (kind: string) => sections.filter(({ heading }) => heading[0] === kind)
  return {
    labels: classesByEntry(under('label')),
    goCountries: classesByEntry(under('go-country')),
    open: new Set(under('open').flatMap(({ entries }) => entries)),
    names: classesByEntry(under('name')),
  }
})

/** Classifies names under domains that are reserved for schools and governments: `.edu`, `.gov.uk`, `.go.jp`, `bund.de`. */
export function findReservedDomain(name: string): DomainFinding | undefined {
  const { names, open, goCountries } = reservedDomains()
  const labels = labelsOf(name)
  for (const part of suffixesOf(labels)) {
    const classification = names.get(part)
    if (classification !== undefined) return { classification, part }
  }
  const top = labels.at(-1)
  const second = labels.at(-2)
  if (top === undefined || second === undefined) return undefined
  if (TOP_LEVELS.includes(top)) return byLabel(top, top)
  // Only two-letter top-level domains have labels of this kind.
  if (labels.length < 3 || top.length !== 2 || open.has(`${second}.${top}`)) return undefined
  if (second === 'go') return found(goCountries.get(top), `go.${top}`)
  // In `k12.ca.us` the state comes in between.
  return (
    byLabel(second, `${second}.${top}`) ?? (top === 'us' ? byLabel(labels.at(-3)!, `${labels.at(-3)}.us`) : undefined)
  )
}

function byLabel(label: string, part: string): DomainFinding | undefined {
  return found(reservedDomains().labels.get(label), part)
}

function found(classification: Classification | undefined, part: string): DomainFinding | undefined {
  return classification === undefined ? undefined : { classification, part }
}

export const providerDomains = once(() => classesByEntry(readSections('provider-domains.txt')))

/** Classifies names under the domain of a known provider. */
export function findProviderDomain(name: string): DomainFinding | undefined {
  const known = providerDomains()
  for (const part of suffixesOf(labelsOf(name))) {
    const classification = known.get(part)
    if (classification !== undefined) return { classification, part }
  }
  return undefined
}
