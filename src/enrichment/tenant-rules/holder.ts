import { ATTRIBUTES, type Attribute } from '../../../schemas/attributes.ts'
import { type Classification, NOISE } from '../../../schemas/classification.ts'
import type { Lookup, Provenance } from '../../lookup/lookup.ts'
import type { Enricher, Enrichment, EnrichmentData } from '../../pipeline/event/enrichment.ts'
import { enrichmentOf } from '../answers/answer.ts'
import { inOrder } from '../answers/merge.ts'
import { qualityOf } from '../answers/quality.ts'
import { Variants } from '../answers/variants.ts'
import { classify } from '../rules/classify.ts'
import { companyIdOf } from '../rules/company-id.ts'
import { ownLabel } from '../rules/domain.ts'
import { heldText, type NetworkHolder } from './rule.ts'
import type { HolderRule } from './rule-set.ts'

/** Facts about an organisation; all others are about the address or its AS. */
const ORGANISATION_ATTRIBUTES = [
  ...(['business_name', 'org_name', 'domain', 'etld_plus_one', 'industry', 'industry_category'] as const),
  ...(['classification', 'description'] as const),
] satisfies readonly Attribute[]

/** In lookups, the provider of facts that a rule `is` gives. */
const RULE_PROVIDER = 'rule'

/** A variant, and the facts that it was made with: new data have other ones. */
interface Variant {
  readonly organisation: Readonly<EnrichmentData> | undefined
  readonly enrichment: Enrichment
}

/** One network may have rules of many tenants. */
const VARIANTS_MAX = 64
/** By rule. */
const variants = new Variants<Variant>(VARIANTS_MAX)

/** The answer for an address of the organisation that a rule `is` names. It is not noise, and belongs to an account. */
export function heldBy(
  enrichment: Enrichment,
  { subject, text }: HolderRule,
  organisationOf: Enricher['organisationOf'],
): Enrichment {
  const organisation = subject.domain === undefined ? undefined : organisationOf?.(subject.domain)
  const make = (): Variant => {
    const data = dataOf(enrichment.data, subject, organisation)
    const classification = data.classification as Classification
    const quality = qualityOf(data, classification, { named: true })
    const made = enrichmentOf({ noise: false, classification, quality, data, companyId: idOf(subject) })
    return { organisation, enrichment: made }
  }
  return variants.of(enrichment, text, make, (variant) => variant.organisation === organisation).enrichment
}

/** As `heldBy`, for a lookup. */
export function lookupHeldBy(
  lookup: Lookup,
  { subject }: HolderRule,
  organisationOf: Enricher['organisationOf'],
): Lookup {
  const data = dataOf(lookup.data, subject, subject.domain === undefined ? undefined : organisationOf?.(subject.domain))
  const classification = data.classification as Classification
  const source: Provenance = { provider: RULE_PROVIDER, network: heldText(subject) }
  const provenance: Partial<Record<Attribute, Provenance>> = {}
  for (const attribute of ATTRIBUTES) {
    if (data[attribute] === undefined) continue
    const isOfRule = ORGANISATION_ATTRIBUTES.some((name) => name === attribute)
    provenance[attribute] = isOfRule ? source : lookup.provenance[attribute]!
  }
  return {
    ...lookup,
    ...{ data, provenance, classification, noise: false, companyId: idOf(subject) },
    rule: 'tenant-rule:is',
    quality: qualityOf(data, classification, { named: true }),
  }
}

/** @param organisation the facts that data sets have */
function dataOf(
  found: Readonly<EnrichmentData>,
  { domain, name }: NetworkHolder,
  organisation: Readonly<EnrichmentData> = {},
): EnrichmentData {
  const data: EnrichmentData = { ...found }
  for (const attribute of ORGANISATION_ATTRIBUTES) {
    if (organisation[attribute] === undefined) delete data[attribute]
    else data[attribute] = organisation[attribute]
  }
  data.business_name = name ?? organisation.business_name ?? nameOf(domain!)
  if (domain !== undefined) Object.assign(data, { domain, etld_plus_one: domain })
  data.classification = classOf(domain, String(data.business_name), organisation.classification)
  return inOrder(data)
}

/** A person declared it an organisation. So it is a business, unless data or words give another class. */
function classOf(domain: string | undefined, orgName: string, known: unknown): Classification {
  const { classification } =
    known === undefined ? classify({ ...(domain && { domain }), orgName }) : { classification: known }
  const found = classification as Classification | undefined
  return found === undefined || NOISE.has(found) ? 'business' : found
}

/** `Acme` of `acme.co.uk`. */
function nameOf(domain: string): string {
  const label = ownLabel(domain) ?? domain
  return label.charAt(0).toUpperCase() + label.slice(1)
}

function idOf({ name, domain }: NetworkHolder): string {
  return companyIdOf({ name, domain })
}
