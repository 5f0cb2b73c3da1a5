import { type Classification, DOUBTFUL, NOISE } from '../../../schemas/classification.ts'
import { classifyAsNumber } from './as-numbers.ts'
import { readNameAndCategory } from './class-of-category.ts'
import { type DomainFinding, ownLabel } from './domain.ts'
import type { Evidence } from './evidence.ts'
import { readHostname } from './hostnames.ts'
import { findProviderDomain, findReservedDomain } from './known-domains.ts'
import { overrule, type Vote, voteOn } from './model/vote.ts'
import { tokens } from './normalise.ts'
import { isOnlyPersonName, isPersonName, PERSON_ADDRESSES_MAX } from './person.ts'
import { isSameHolder } from './same-holder.ts'
import { type NameFinding, type NameOf, readNameWords } from './score-name.ts'
import { classifyVendorType, readConnection } from './vendor-types.ts'

/**
 * The classification, and the rule that decided: `as-number:16509`, `name-word:telekom`, `vendor-type:isp`, `table`,
 * `model:isp:0.96`. The number is the probability that the holder of the AS is noise, by the model.
 */
export interface Decision {
  /** Undefined without evidence for a class. The rule is then `unknown`, `doubtful`, `person`, or `none` without a name. */
  classification: Classification | undefined
  rule: string
}

/**
 * Classifies the organisation that uses an address. The first rule with a result decides, strongest first:
 *
 * 1. a table or published range that names it
 * 2. flags for anonymity (Tor, VPN, public proxy)
 * 3. a vendor's type of the address or company, then its hosting flag
 * 4. the organisation's name and domain, unless it is the holder of the AS
 * 5. signs of a consumer: a cellular, satellite or dial-up connection; a domain or a generated reverse name
 * 6. the AS: its number, its reserved domain, its vendor's type, its name and domain; a fixed line
 * 7. the purpose of the block, given in place of a customer's name; a corporate line
 * 8. a model, when the name and size of the AS make it sure; it also overrules a single weak word of step 6
 *
 * The name of a private person ends the search in steps 4 and 6: the rule is `person`, without a class.
 *
 * So a company's block inside an access provider's AS is the company. Without a result there is no class. Pure; takes a
 * few microseconds, or some dozens with the model; never throws.
 */
export function classify(evidence: Evidence): Decision {
  return (
    byTable(evidence) ??
    byAnonymity(evidence) ??
    byOrganisationType(evidence) ??
    byHostingFlag(evidence) ??
    byOrganisation(evidence) ??
    byAddress(evidence) ??
    byAs(evidence) ??
    byAllocation(evidence) ??
    byConnection(evidence) ??
    byModel(evidence)
  )
}

function byTable({ explicit, explicitSource }: Evidence): Decision | undefined {
  if (explicit === undefined) return undefined
  return { classification: explicit, rule: explicitSource ? `table:${explicitSource}` : 'table' }
}

function byAnonymity({ isTor, isAnonymousVpn, isProxy, isAnonymous }: Evidence): Decision | undefined {
  if (isTor) return { classification: 'vpn', rule: 'flag:tor' }
  if (isAnonymousVpn) return { classification: 'vpn', rule: 'flag:vpn' }
  if (isProxy) return { classification: 'vpn', rule: 'flag:proxy' }
  if (isAnonymous) return { classification: 'vpn', rule: 'flag:anonymous' }
  return undefined
}

function byOrganisationType(evidence: Evidence): Decision | undefined {
  const classification = classifyVendorType(evidence.orgType ?? '')
  if (classification === undefined) return undefined
  // Vendors also call a provider's business lines "business". The provider is then the only company in the record.
  if (classification === 'business' && namesOnlyProvider(evidence)) return undefined
  return { classification: refine(classification, evidence), rule: `vendor-type:${classification}` }
}

/** Vendors set this flag for whole networks. A school in one of them is still a school. */
function byHostingFlag(evidence: Evidence): Decision | undefined {
  if (!evidence.isHosting || isProvenOrganisation(byOrganisation(evidence))) return undefined
  return { classification: refine('hosting', evidence), rule: 'flag:hosting' }
}

function isProvenOrganisation(decision: Decision | undefined): boolean {
  return decision?.classification !== undefined && !NOISE.has(decision.classification) && decision.rule !== 'name'
}

const FINER: ReadonlySet<Classification> = new Set(['cloud', 'cdn', 'vpn', 'bot'] as const)

/** Vendors know only "hosting". AS numbers and names distinguish clouds, CDNs, VPNs and bots. */
function refine(classification: Classification, evidence: Evidence): Classification {
  if (classification !== 'hosting') return classification
  const finer = byOrganisation(evidence)?.classification ?? byAs(evidence)?.classification
  return finer !== undefined && FINER.has(finer) ? finer : classification
}

/** Words such as "networks" are too weak here, because the vendor has examined the company. */
function namesOnlyProvider(evidence: Evidence): boolean {
  if (evidence.orgName && !isSameHolder(evidence)) return isKnownNoise(evidence.orgName, 'organisation')
  const { asn, asType, asName } = evidence
  const as = (asn === undefined ? undefined : classifyAsNumber(asn)) ?? classifyVendorType(asType ?? '')
  return as === undefined ? isKnownNoise(asName ?? '', 'as') : NOISE.has(as)
}

function isKnownNoise(name: string, nameOf: NameOf): boolean {
  const finding = readNameWords(name, nameOf)
  return finding?.known === true && NOISE.has(finding.classification)
}

function byOrganisation(evidence: Evidence): Decision | undefined {
  if (isSameHolder(evidence)) return undefined
  const { orgName, domain } = evidence
  const reserved = domain ? findReservedDomain(domain) : undefined
  if (reserved !== undefined) return byDomain(reserved)
  if (!orgName) return undefined
  if (isPrivatePerson(orgName, evidence)) return PERSON
  const finding = readNameAndCategory(orgName, 'organisation')
  if (finding !== undefined) return nameDecision(finding)
  const provider = domain ? findProviderDomain(domain) : undefined
  return provider === undefined ? { classification: 'business', rule: 'name' } : byDomain(provider)
}

function byAddress(evidence: Evidence): Decision | undefined {
  const { connectionType, hostname, domain } = evidence
  if (readConnection(connectionType ?? '') === 'consumer') {
    return { classification: 'isp', rule: `connection-type:${connectionType!.toLowerCase()}` }
  }
  return byHostDomain(hostname ?? '', evidence) ?? byHostname(evidence) ?? byBareDomain(domain ?? '', evidence)
}

/** A reserved domain identifies the holder, unless the address is a rented machine. A provider's domain always does. */
function byHostDomain(hostname: string, evidence: Evidence): Decision | undefined {
  if (hostname === '') return undefined
  const reserved = findReservedDomain(hostname)
  if (reserved !== undefined && !isRented(evidence)) return byDomain(reserved)
  const provider = findProviderDomain(hostname)
  return provider === undefined ? undefined : byDomain(provider)
}

function byHostname(evidence: Evidence): Decision | undefined {
  const finding = readHostname(evidence.hostname ?? '')
  if (finding === undefined) return undefined
  // `dhcp-10-1.acme.com` in Acme's own AS is a desk at Acme.
  if (!finding.sure && isOwnName(evidence.hostname!, evidence)) return undefined
  return { classification: finding.classification, rule: `hostname:${finding.word}` }
}

/** A domain without a name, as in databases of reverse names. */
function byBareDomain(domain: string, evidence: Evidence): Decision | undefined {
  if (domain === '' || evidence.orgName) return undefined
  const provider = findProviderDomain(domain)
  if (provider !== undefined) return byDomain(provider)
  const label = ownLabel(domain)
  const finding = label === undefined ? undefined : readNameWords(label, 'organisation')
  if (finding !== undefined) return nameDecision(finding)
  if (isOwnName(domain, evidence) || isSameHolder(evidence) || isRented(evidence)) return undefined
  return { classification: 'business', rule: 'domain' }
}

function isRented(evidence: Evidence): boolean {
  const as = byAs(evidence)?.classification
  return as === 'hosting' || as === 'cloud' || as === 'cdn' || as === 'vpn'
}

function isOwnName(host: string, { asName, orgName }: Evidence): boolean {
  const label = ownLabel(host)
  if (label === undefined) return false
  const names = tokens(`${asName ?? ''} ${orgName ?? ''}`)
  return names.includes(label) || names.join('').includes(label.replaceAll('-', ''))
}

function byAs(evidence: Evidence): Decision | undefined {
  const { asn, asDomain, asType, asName } = evidence
  const number = asn === undefined ? undefined : classifyAsNumber(asn)
  if (number !== undefined) return { classification: number, rule: `as-number:${asn}` }
  const reserved = asDomain ? findReservedDomain(asDomain) : undefined
  if (reserved !== undefined) return byDomain(reserved)
  const type = classifyVendorType(asType ?? '')
  if (type !== undefined) return { classification: finerAs(type, asName), rule: `as-type:${type}` }
  if (isPrivatePerson(asName, evidence)) return PERSON
  return byAsName(evidence)
}

const PERSON: Decision = { classification: undefined, rule: 'person' }

/**
 * Whether a name in the evidence is a private person's. A large AS with a name that may be a company's is no person's, nor is the
 * name of an organisation that a table or vendor states.
 */
export function isPrivatePerson(
  name: string | undefined,
  { asName, asAddresses = 0, organisationNames = [] }: Evidence,
): boolean {
  if (!name || !isPersonName(name)) return false
  if (name === asName && asAddresses >= PERSON_ADDRESSES_MAX && !isOnlyPersonName(name)) return false
  return !organisationNames.some((stated) => isSameHolder({ orgName: stated, asName: name }))
}

function finerAs(type: Classification, asName: string | undefined): Classification {
  if (type !== 'hosting' || !asName) return type
  const finer = readNameWords(asName, 'as')?.classification
  return finer !== undefined && FINER.has(finer) ? finer : type
}

function byAsName(evidence: Evidence): Decision | undefined {
  const { asName, asDomain, orgName } = evidence
  const finding =
    (asName ? readNameAndCategory(asName, 'as') : undefined) ??
    (orgName ? readNameAndCategory(orgName, 'as') : undefined)
  if (finding !== undefined) return byOverruling(finding, evidence) ?? nameDecision(finding)
  const provider = asDomain ? findProviderDomain(asDomain) : undefined
  if (provider !== undefined) return byDomain(provider)
  const label = asDomain ? ownLabel(asDomain) : undefined
  const ofDomain = label === undefined ? undefined : readNameWords(label, 'organisation')
  if (ofDomain !== undefined) return nameDecision(ofDomain)
  const connection = evidence.connectionType ?? ''
  if (readConnection(connection) === 'fixed-line') {
    return { classification: 'isp', rule: `connection-type:${connection.toLowerCase()}` }
  }
  return undefined
}

function byOverruling(
  finding: NameFinding,
  { asName, orgName, asn, asAddresses, asHasV6, asScatter }: Evidence,
): Decision | undefined {
  if (finding.known) return undefined
  const vote = overrule({ name: (asName || orgName)!, asn, asAddresses, asHasV6, asScatter }, finding)
  return vote === undefined ? undefined : voteDecision(vote)
}

function byConnection({ connectionType, asName, orgName }: Evidence): Decision | undefined {
  if (readConnection(connectionType ?? '') !== 'corporate' || !(asName || orgName)) return undefined
  return { classification: 'business', rule: `connection-type:${connectionType!.toLowerCase()}` }
}

/** A provider has named a block after its purpose. */
function byAllocation({ allocation }: Evidence): Decision | undefined {
  return allocation === undefined ? undefined : { classification: 'isp', rule: `allocation:${allocation}` }
}

function byModel(evidence: Evidence): Decision {
  const { asName, orgName, domain, asDomain, asn, asAddresses, asHasV6, asScatter } = evidence
  const name = asName || orgName
  if (!name) return { classification: undefined, rule: domain || asDomain ? 'unknown' : 'none' }
  return voteDecision(voteOn({ name, asn, asAddresses, asHasV6, asScatter }))
}

function voteDecision({ classification, noise, isDoubtful = false }: Vote): Decision {
  const share = noise.toFixed(2)
  if (classification === undefined) return { classification, rule: `${isDoubtful ? DOUBTFUL : 'unknown:'}${share}` }
  return { classification, rule: `${MODEL}${classification}:${share}` }
}

/** Whether only the name speaks, and for noise, but not enough to filter. */
export function isDoubtful({ rule }: Pick<Decision, 'rule'>): boolean {
  return rule.startsWith(DOUBTFUL)
}

/** Whether the classification rests on the model alone. */
export function isVote({ rule }: Decision): boolean {
  return rule.startsWith(MODEL)
}

const MODEL = 'model:'

function byDomain({ classification, part }: DomainFinding): Decision {
  return { classification, rule: `domain:${part}` }
}

function nameDecision(finding: { classification: Classification; word: string; known: boolean }): Decision {
  return {
    classification: finding.classification,
    rule: `${finding.known ? 'known-name' : 'name-word'}:${finding.word}`,
  }
}
