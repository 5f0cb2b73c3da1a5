import type { Classification } from '../../../schemas/classification.ts'
import { KEPT_CLASSES, RULE_KINDS, type RuleKind } from '../../../schemas/tenant-rules.ts'
import { type AddressRange, ASN_MAX, clip, formatRange, parseCidr } from '../addresses/network.ts'
import { companyIdOf, nameKey } from '../rules/company-id.ts'
import { domainIn, registrableDomain } from '../rules/domain.ts'
import { slug } from '../rules/normalise.ts'

/** The subject of a rule. */
type Subject =
  | { readonly of: 'network'; readonly range: AddressRange }
  | { readonly of: 'as'; readonly asn: number }
  /** Compared with `Enrichment.companyId`: a domain, or else the key of a name. */
  | { readonly of: 'organisation'; readonly id: string }
  | { readonly of: 'class'; readonly classification: Classification }
  | NetworkHolder

/** Names the organisation of a network, or of an AS. It has a domain, a name, or both. */
export interface NetworkHolder {
  readonly of: 'holder'
  readonly network: AddressRange | number
  /** Registrable, lower case. Undefined: unknown. */
  readonly domain: string | undefined
  /** Undefined: the name in the tables, or else the domain. */
  readonly name: string | undefined
}

/** One rule of a tenant. */
export interface Rule {
  readonly kind: RuleKind
  readonly subject: Subject
  /** Kind and subject in canonical spelling, for storage and answers. */
  readonly text: string
}

/** Most addresses of a network that one organisation has. A rule for more would make every visitor its employee. */
const HELD_MAX = { v4: 2 ** 24, v6: 2n ** 112n } as const
/** Text that must be a network: digits, hexadecimal digits with colons, or a length after a slash. Names contain other letters. */
const NETWORK = /^[\d.\s/-]+$|^[\da-f.]*:[\da-f:.]*$|\/\d+$/i
const AS = /^as\s*(\d+)$/i
const URL_SCHEME = /^https?:\/\//i
const NAME_MAX_CHARS = 200
/** In place of a domain: it is unknown. */
const NO_DOMAIN = '-'
const DOMAIN = /^(?=.{1,253}$)[\p{L}\p{N}_-]{1,63}(\.[\p{L}\p{N}_-]{1,63})+$/u

/**
 * Parses a rule. Returns the problem as text when it is not valid.
 * @param subject a network, `AS64500`, an organisation's domain or name; for `keep`, a class; for `is`, a network or AS, a domain or
 * `-`, and perhaps a name, separated by spaces
 */
export function parseRule(kind: string, subject: string): Rule | string {
  const known = RULE_KINDS.find((name) => name === kind)
  if (known === undefined) return `"${clip(kind)}" is not a kind of rule: must be ${RULE_KINDS.join(', ')}`
  const found = subjectOf(known, subject.trim())
  if (typeof found === 'string') return found
  return { kind: known, subject: found, text: `${known} ${textOf(found)}` }
}

/** Parses `Rule.text`. */
export function readRule(text: string): Rule | string {
  const space = text.indexOf(' ')
  return space < 0 ? `"${clip(text)}" is not a rule` : parseRule(text.slice(0, space), text.slice(space + 1))
}

function subjectOf(kind: RuleKind, text: string): Subject | string {
  if (kind === 'keep') {
    const classification = KEPT_CLASSES.find((name) => name === text.toLowerCase())
    if (classification !== undefined) return { of: 'class', classification }
    return `keep "${clip(text)}": must be a class that is filtered by default: ${KEPT_CLASSES.join(', ')}`
  }
  if (kind === 'is') return holderOf(text)
  const subject = anySubject(text)
  if (typeof subject === 'string') return `${kind} ${subject}`
  if (kind !== 'own' || subject.of === 'network') return subject
  return `own "${clip(text)}": must be a network like 203.0.113.0/24`
}

function holderOf(text: string): NetworkHolder | string {
  const [where = '', host = '', ...words] = text.split(/\s+/).map((word) => word.replace(/\p{C}/gu, ''))
  const network = AS.test(where) ? systemOf(where) : heldRange(where)
  if (typeof network === 'string') return `is ${network}`
  const domain = host === NO_DOMAIN ? undefined : registrableDomain(domainIn(host) ?? '')
  const name = words.join(' ') || undefined
  if (domain === undefined && host !== NO_DOMAIN) {
    return `is ${clip(where)} "${clip(host)}": must be a network and the domain of its organisation, like 203.0.113.0/24 example.com, or - and its name`
  }
  if (name !== undefined && name.length > NAME_MAX_CHARS) return `is: a name has at most ${NAME_MAX_CHARS} characters`
  if (domain === undefined && companyIdOf({ name, domain }) === '') {
    return `is ${clip(where)} -: must end with the name of the organisation, like AS64500 - Example Inc`
  }
  return { of: 'holder', network, domain, name }
}

function systemOf(text: string): number | string {
  const asn = Number(AS.exec(text)![1])
  return asn >= 1 && asn <= ASN_MAX ? asn : `"${clip(text)}" is not an AS number`
}

function heldRange(text: string): AddressRange | string {
  const range = parseCidr(text)
  if (typeof range === 'string') return `${range}: must be one like 203.0.113.0/24, 2001:db8::/32 or AS64500`
  const isTooLarge =
    range.version === 4 ? range.last - range.first >= HELD_MAX.v4 : range.last - range.first >= HELD_MAX.v6
  return isTooLarge ? `${clip(text)}: no organisation has a network larger than a /8, or a /16 of IPv6` : range
}

function anySubject(text: string): Subject | string {
  if (NETWORK.test(text)) {
    const range = parseCidr(text)
    if (typeof range !== 'string') return { of: 'network', range }
    return `${range}: must be one like 203.0.113.0/24 or 2001:db8::/32`
  }
  if (AS.test(text)) {
    const asn = systemOf(text)
    return typeof asn === 'string' ? asn : { of: 'as', asn }
  }
  const domain = URL_SCHEME.test(text) ? domainIn(text) : DOMAIN.test(text) ? text.toLowerCase() : undefined
  const id = domain === undefined ? idOfName(text) : companyIdOf({ name: undefined, domain })
  return id === '' ? `"${clip(text)}" is not a network, AS number or organisation` : { of: 'organisation', id }
}

/** A slug stays as it is: stored rules are slugs, and those of earlier versions may have an article or a legal form. */
function idOfName(text: string): string {
  return slug(text) === text ? text : nameKey(text)
}

function textOf(subject: Subject): string {
  switch (subject.of) {
    case 'network':
      return formatRange(subject.range)
    case 'as':
      return `AS${subject.asn}`
    case 'organisation':
      return subject.id
    case 'class':
      return subject.classification
    case 'holder':
      return [
        heldText(subject),
        subject.domain ?? NO_DOMAIN,
        ...(subject.name === undefined ? [] : [subject.name]),
      ].join(' ')
  }
}

/** A network, or `AS64500`. */
export function heldText({ network }: NetworkHolder): string {
  return typeof network === 'number' ? `AS${network}` : formatRange(network)
}
