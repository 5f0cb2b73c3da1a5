import { ATTRIBUTES, type Attribute } from '../../../schemas/attributes.ts'
import type { Bot } from '../../../schemas/bots.ts'
import { type Classification, NOISE } from '../../../schemas/classification.ts'
import type { EnrichmentData } from '../../pipeline/event/enrichment.ts'
import { botOfSystem } from '../bots/systems.ts'
import { type Facts, makeFacts, type Scope } from '../facts.ts'
import type { Provider } from '../providers/provider.ts'
import { businessName } from '../rules/business-name.ts'
import { categoryOfName, type Stated } from '../rules/category.ts'
import { classify, type Decision, isDoubtful, isPrivatePerson, isVote } from '../rules/classify.ts'
import { companyIdOf } from '../rules/company-id.ts'
import { ownLabel, registrableDomain, registrableDomainOfHost } from '../rules/domain.ts'
import type { Evidence, Organisation } from '../rules/evidence.ts'
import { isBareHandle, isPostalAddress } from '../rules/handle.ts'
import { tokens } from '../rules/normalise.ts'
import { isSameHolder } from '../rules/same-holder.ts'
import { classifyVendorType } from '../rules/vendor-types.ts'
import { speakersOf } from './groups.ts'
import { ownIspWithin, withOwnIsp } from './own-isp.ts'
import { qualityOf } from './quality.ts'

/** A provider with a record about the address or about its autonomous system. */
export interface Finder {
  readonly provider: Provider
  readonly scope: Scope
}

/** A record that a provider found. */
export interface Finding extends Finder {
  readonly facts: Facts
}

/** The merged findings. */
export interface Merged {
  /** In the order of `ATTRIBUTES`, without `network`. */
  readonly data: EnrichmentData
  /** The provider of each attribute; `rules` for the classifier. */
  readonly sources: Partial<Record<Attribute, string>>
  /** The attributes that a word of the organisation's name states. Their source is `rules`. */
  readonly derived: DerivedAttributes
  readonly decision: Decision
  readonly noise: boolean
  /** The bot of the address; undefined when its class is another. */
  readonly bot: Bot | undefined
  readonly quality: number
  /** Empty: no organisation is known, a private person holds the network, or its name is doubtful. */
  readonly companyId: string
}

/** The word that states an attribute, with its measured precision. */
export type DerivedAttributes = Readonly<Partial<Record<Attribute, Omit<Stated, 'value'>>>>

/** The source of a classification, a category or an industry that no provider states. */
export const RULES = 'rules'

/** @param all in order of trust: the first finding with an attribute, or with its group (`groups.ts`), provides it */
export function merge(all: readonly Finding[]): Merged {
  const findings = withoutCarrier(all)
  const data: EnrichmentData = {}
  const sources: Partial<Record<Attribute, string>> = {}
  const speaks = speakersOf(findings)
  for (const finding of findings) {
    const { provider, facts } = finding
    for (const key in facts.data) {
      const attribute = key as Attribute
      if (data[attribute] !== undefined || !speaks(attribute, finding)) continue
      data[attribute] = facts.data[attribute]!
      sources[attribute] = provider.name
    }
  }
  const evidence = evidenceOf(findings)
  const decision = decisionOf(findings, evidence)
  const noise = decision.classification !== undefined && NOISE.has(decision.classification)
  const named = findings.find(({ facts }) => facts.organisation !== undefined)
  const stated = named?.facts.organisation ?? (noise ? undefined : inferredOrganisation(findings, evidence))
  const organisation = isNameless(stated, evidence) ? undefined : stated
  if (organisation === undefined && stated?.domain !== undefined && data.domain === stated.domain) {
    delete data.domain
    delete sources.domain
  }
  withoutPersons(data, sources, findings, evidence)

  if (decision.classification !== undefined) {
    data.classification = decision.classification
    sources.classification = decision.classification === evidence.explicit ? (evidence.explicitSource ?? RULES) : RULES
  }
  nameBusiness(data, sources, findings, organisation)
  if (named === undefined && data.domain === undefined && organisation?.domain !== undefined) {
    data.domain = organisation.domain
    sources.domain = sources.org_name
  }
  addRegistrableDomain(data, sources)
  const derived = noise ? {} : deriveCategory(data, sources, organisation)
  return {
    data: inOrder(data),
    sources,
    derived,
    decision,
    noise,
    bot: decision.classification === 'bot' ? (evidence.bot ?? botOfSystem(evidence.asn) ?? 'other') : undefined,
    quality: qualityOf(data, decision.classification, {
      named: named !== undefined,
      voted: isVote(decision),
      derived: derived.industry_category !== undefined,
    }),
    // The names stay, so that a person who reads the event can decide.
    companyId: named === undefined && isDoubtful(decision) ? '' : companyIdOf(organisation),
  }
}

/** Whether it names no company: it is a private person, or its name is only a handle or an address. */
function isNameless(organisation: Organisation | undefined, evidence: Evidence): boolean {
  if (organisation === undefined) return false
  const { name, domain } = organisation
  if (isPrivatePerson(name, evidence)) return true
  return domain === undefined && name !== undefined && (isBareHandle(name) || isPostalAddress(name))
}

const NAMES = ['business_name', 'org_name', 'as_name'] as const satisfies readonly Attribute[]

/** Removes the names of private persons and descriptions with them, except those from a table of organisations. */
function withoutPersons(
  data: EnrichmentData,
  sources: Partial<Record<Attribute, string>>,
  findings: readonly Finding[],
  evidence: Evidence,
): void {
  const isOfTable = (attribute: Attribute) =>
    findings.some(({ provider }) => provider.name === sources[attribute] && provider.kind === 'table')
  const remove = (attribute: Attribute) => {
    delete data[attribute]
    delete sources[attribute]
  }
  for (const attribute of NAMES) {
    const name = data[attribute]
    if (name === undefined || isOfTable(attribute) || !isPrivatePerson(String(name), evidence)) continue
    const { description } = data
    remove(attribute)
    if (description !== undefined && !isOfTable('description') && mentions(String(description), String(name))) {
      remove('description')
    }
  }
}

function mentions(text: string, name: string): boolean {
  return tokens(text).join(' ').includes(tokens(name).join(' '))
}

/**
 * Makes `business_name` readable, or makes one from the registered name. The business name of an organisation table stays
 * as its author wrote it.
 */
function nameBusiness(
  data: EnrichmentData,
  sources: Partial<Record<Attribute, string>>,
  findings: readonly Finding[],
  organisation: Organisation | undefined,
): void {
  const stated = findings.find(({ facts }) => facts.data.business_name !== undefined)
  if (stated?.provider.kind === 'table') return
  const registered = data.business_name ?? organisation?.name
  if (registered === undefined) return
  data.business_name = businessName(String(registered))
  sources.business_name ??= sources.org_name
}

/**
 * The organisation when no source names one: by the name of the network or the AS, with the domain of the AS if the name is
 * the AS's. In a carrier's network that name is the carrier's, so only the address's own domain counts.
 */
function inferredOrganisation(findings: readonly Finding[], evidence: Evidence): Organisation | undefined {
  const domain = findings.find(({ facts }) => facts.data.domain !== undefined)?.facts.data.domain as string | undefined
  const network = findings.find(({ facts }) => facts.data.org_name !== undefined)
  const name = network?.facts.data.org_name as string | undefined
  if (domain !== undefined && (name === undefined || isCarrier(evidence))) return { name: undefined, domain }
  if (name === undefined) return undefined
  const { asName, asDomain } = network!.facts.evidence
  return { name, domain: name === asName ? asDomain : undefined }
}

/** Whether the network is infrastructure, regardless of the address's own domain and host name. */
function isCarrier({ domain: _domain, hostname: _hostname, ...network }: Evidence): boolean {
  const { classification } = classify(network)
  return classification !== undefined && NOISE.has(classification)
}

/**
 * Strips a row that calls a whole AS infrastructure down to number and name if a source names a customer that uses the
 * address. The rest describes the carrier and not its customer.
 */
function withoutCarrier(findings: readonly Finding[]): readonly Finding[] {
  const carrier = findings.find(isCarrierRow)
  if (carrier === undefined || !findings.some((finding) => namesCustomer(finding, carrier))) return findings
  return findings.map((finding) => {
    if (!isCarrierRow(finding)) return finding
    const { asn, as_name } = finding.facts.data
    const data = { ...(asn !== undefined && { asn }), ...(as_name !== undefined && { as_name }) }
    return { ...finding, facts: makeFacts(data, {}, undefined, 'as') }
  })
}

function isCarrierRow({ facts, scope }: Finding): boolean {
  return scope === 'as' && isNoise(facts)
}

/** Whether the finding names the user of the address. ISP data names one without research. */
function namesCustomer({ facts, scope }: Finding, carrier: Finding): boolean {
  if (scope === 'as') return false
  const { asDomain, orgName, ispName } = facts.evidence
  const asName = orgName === undefined && facts.evidence.asName === ispName ? undefined : facts.evidence.asName
  const inferred = { name: orgName ?? ownIspWithin(carrier.facts.evidence.explicit, ispName), domain: undefined }
  const { name, domain } = facts.organisation ?? inferred
  if (name === undefined && domain === undefined) return false
  const holder = carrier.facts.organisation
  return (
    !isSameHolder({ orgName: name, domain, ...(asName && { asName }), asDomain }) &&
    !isSameHolder({ orgName: name, domain, asName: holder?.name, asDomain: holder?.domain })
  )
}

/** The result of `classify`, computed before if the evidence is that of one record with a decision. */
export function decisionOf(findings: readonly Finding[], evidence: Evidence): Decision {
  const alone = findings.find(({ facts }) => facts.evidence === evidence)
  return alone?.facts.decided?.decision ?? classify(evidence)
}

/** The evidence of the record with a decision, if no other record states anything about the organisation. */
function decidedEvidence(findings: readonly Finding[]): Evidence | undefined {
  const decided = findings.find(({ facts }) => facts.decided !== undefined)
  if (decided === undefined) return undefined
  const isSilent = ({ facts }: Finding) => facts.organisation === undefined && Object.keys(facts.evidence).length === 0
  return findings.every((finding) => finding === decided || isSilent(finding)) ? decided.facts.evidence : undefined
}

/** Collects the input of the classifier. Statements about the address outrank statements about its AS. */
export function evidenceOf(findings: readonly Finding[]): Evidence {
  const decided = decidedEvidence(findings)
  if (decided !== undefined) return decided
  const evidence: Evidence = {}
  const organisationNames: string[] = []
  let explicitAs: Finding | undefined
  for (const finding of findings) {
    const stated = finding.facts.evidence
    for (const key in stated) {
      const field = key as keyof Evidence
      if (CLASS_EVIDENCE.has(field) || evidence[field] !== undefined) continue
      if (AS_EVIDENCE.has(field) && isOfAnotherAs(stated, evidence)) continue
      Object.assign(evidence, { [field]: stated[field] })
    }
    organisationNames.push(...organisationNamesOf(finding))
    if (stated.explicit === undefined) continue
    if (finding.scope === 'as') explicitAs ??= finding
    else if (evidence.explicit === undefined || isPublished(finding, evidence)) state(evidence, finding)
  }
  if (evidence.explicit === undefined && explicitAs !== undefined) state(evidence, explicitAs)
  if (organisationNames.length > 0) evidence.organisationNames = organisationNames
  return evidence.ispName === undefined
    ? evidence
    : withOwnIsp(
        evidence,
        findings.map(({ facts }) => facts.evidence),
      )
}

/**
 * The names in a record that are an organisation's: those in a table, and those with the type of an organisation or, in a
 * database of companies, with a domain like the name. Elsewhere a domain proves nothing: many private persons have one.
 */
function organisationNamesOf({ provider, facts }: Finding): string[] {
  const { orgName, orgType, asName, asType } = facts.evidence
  const { name, domain } = facts.organisation ?? {}
  const names: (string | undefined)[] = []
  const isStated = provider.kind === 'company' && isDomainOf(domain, name)
  if (provider.kind === 'table' || isTypeOfOrganisation(orgType) || isStated) names.push(name, orgName)
  if (isTypeOfOrganisation(asType)) names.push(asName)
  return names.filter((known) => known !== undefined && known !== '') as string[]
}

function isTypeOfOrganisation(type: string | undefined): boolean {
  const classification = classifyVendorType(type ?? '')
  return classification !== undefined && !NOISE.has(classification)
}

/** `axelspringer.com` of Axel Springer. */
function isDomainOf(domain: string | undefined, name: string | undefined): boolean {
  const label = domain === undefined || name === undefined ? undefined : ownLabel(domain)
  return label?.replaceAll('-', '').includes(tokens(name!).join('')) === true
}

/** Evidence that `state` sets. */
const CLASS_EVIDENCE: ReadonlySet<keyof Evidence> = new Set(['explicit', 'explicitSource', 'bot'])

/**
 * Whether a list publishes the address as a bot's or as a VPN's. That outranks tables, which describe whole networks: Apple's
 * crawler is inside of Apple's network.
 */
function isPublished({ provider, facts }: Finding, { explicit }: Evidence): boolean {
  const stated = facts.evidence.explicit
  return (
    provider.kind === 'noise' && (stated === 'bot' || (stated === 'vpn' && explicit !== 'bot')) && stated !== explicit
  )
}

/** Evidence that belongs to an AS number. */
const AS_EVIDENCE: ReadonlySet<keyof Evidence> = new Set([
  'asName',
  'asDomain',
  'asType',
  'asAddresses',
  'asHasV6',
  'asScatter',
])

function isOfAnotherAs(stated: Readonly<Evidence>, evidence: Evidence): boolean {
  return stated.asn !== undefined && evidence.asn !== undefined && stated.asn !== evidence.asn
}

/** Whether a row states that it is about infrastructure. */
export function isNoise(facts: Facts): boolean {
  const explicit: Classification | undefined = facts.evidence.explicit
  return explicit !== undefined && NOISE.has(explicit)
}

function state(evidence: Evidence, finding: Finding): void {
  evidence.explicit = finding.facts.evidence.explicit
  evidence.explicitSource = finding.provider.name
  if (finding.facts.evidence.bot === undefined) delete evidence.bot
  else evidence.bot = finding.facts.evidence.bot
}

/** Adds the category that the organisation's own name states, if no provider gives a category or an industry. */
function deriveCategory(
  data: EnrichmentData,
  sources: Partial<Record<Attribute, string>>,
  organisation: Organisation | undefined,
): DerivedAttributes {
  if (data.industry !== undefined || data.industry_category !== undefined) return {}
  const found = organisation?.name === undefined ? undefined : categoryOfName(organisation.name)
  if (found === undefined) return {}
  const derived: Partial<Record<Attribute, Omit<Stated, 'value'>>> = {}
  const stated: [Attribute, Stated | undefined][] = [
    ['industry', found.industry],
    ['industry_category', found.category],
  ]
  for (const [attribute, statement] of stated) {
    if (statement === undefined) continue
    const { value, word, precision } = statement
    data[attribute] = value
    sources[attribute] = RULES
    derived[attribute] = { word, precision }
  }
  return derived
}

function addRegistrableDomain(data: EnrichmentData, sources: Partial<Record<Attribute, string>>): void {
  const from = data.domain === undefined ? 'hostname' : 'domain'
  const name = data[from]
  if (typeof name !== 'string') return
  const registrable = from === 'domain' ? registrableDomain(name) : registrableDomainOfHost(name)
  if (registrable === undefined) return
  data.etld_plus_one = registrable
  sources.etld_plus_one = sources[from]
}

/** Sorts data like `ATTRIBUTES`. */
export function inOrder(data: Readonly<EnrichmentData>): EnrichmentData {
  const ordered: EnrichmentData = {}
  for (const attribute of ATTRIBUTES) {
    const value = data[attribute]
    if (value !== undefined) ordered[attribute] = value
  }
  return ordered
}
