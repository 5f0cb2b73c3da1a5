import { type Attribute, LOCATION_ATTRIBUTES } from '../../../schemas/attributes.ts'
import type { EnrichmentData } from '../../pipeline/event/enrichment.ts'
import type { Facts, Scope } from '../facts.ts'

type Known = { readonly facts: Pick<Facts, 'data'>; readonly scope: Scope }

/** Attributes that must come from one record. A mix of records could put Boxford into France. */
interface Group {
  readonly attributes: readonly Attribute[]
  /** The value that records about the same thing share; undefined when a record lacks it. */
  subject(data: Readonly<EnrichmentData>): string | undefined
  /** How detailed a record is. */
  detail(data: Readonly<EnrichmentData>): number
}

const LOCATION: Group = {
  attributes: LOCATION_ATTRIBUTES,
  subject: ({ country_code, country }) => text(country_code ?? country),
  detail: ({ city, region, country, country_code }) =>
    Number(city !== undefined) * 4 +
    Number(region !== undefined) * 2 +
    Number(country !== undefined && country_code !== undefined),
}

const AS: Group = {
  attributes: ['asn', 'as_name'],
  subject: ({ asn }) => text(asn),
  detail: ({ as_name }) => Number(as_name !== undefined),
}

const GROUPS = [LOCATION, AS]
const GROUP_OF = new Map(GROUPS.flatMap((group) => group.attributes.map((attribute) => [attribute, group] as const)))

/**
 * Decides for each attribute whether a finding may provide it. Location and AS come from one finding each. The first
 * finding with a country or AS number sets the value. Of the findings with the same value, the most detailed one provides
 * the group. The country of a row about an AS is its holder's, so it counts only if no finding has one for the address.
 * @param findings in order of trust
 */
export function speakersOf<F extends Known>(findings: readonly F[]): (attribute: Attribute, finding: F) => boolean {
  const [ofAddress, ofAs] = [findings.filter(isOfAddress), findings.filter((finding) => !isOfAddress(finding))]
  const byScope = ofAs.length === 0 ? findings : [...ofAddress, ...ofAs]
  const speakers = new Map([
    [LOCATION, speakerOf(LOCATION, byScope)],
    [AS, speakerOf(AS, findings)],
  ])
  return (attribute, finding) => {
    const group = GROUP_OF.get(attribute)
    return group === undefined || speakers.get(group) === finding
  }
}

function isOfAddress({ scope }: Known): boolean {
  return scope === 'address'
}

function speakerOf<F extends Known>(group: Group, findings: readonly F[]): F | undefined {
  const first = findings.find(({ facts }) => group.subject(facts.data) !== undefined)
  if (first === undefined) return findings.find(({ facts }) => group.attributes.some((name) => name in facts.data))
  const subject = group.subject(first.facts.data)
  let speaker = first
  for (const finding of findings) {
    const { data } = finding.facts
    if (group.subject(data) === subject && group.detail(data) > group.detail(speaker.facts.data)) speaker = finding
  }
  return speaker
}

function text(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value)
}
