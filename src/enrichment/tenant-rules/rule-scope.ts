import { type Classification, NOISE } from '../../../schemas/classification.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { EnrichmentData } from '../../pipeline/event/enrichment.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { type AddressRange, formatRange } from '../addresses/network.ts'
import { readRule } from './rule.ts'
import { type Judged, RuleSet } from './rule-set.ts'

/** A condition on stored events: rules can apply only to events that meet it. */
export interface EventScope {
  readonly networks: readonly AddressRange[]
  readonly asns: readonly number[]
  /** Company ids that are domains. */
  readonly domains: readonly string[]
}

/** Finds the events that some rules apply to, so that a change of these rules touches no others. */
export class RuleScope {
  /** For `inScope`; undefined: SQL cannot narrow the events, so all must be read. */
  readonly narrowed: EventScope | undefined
  readonly #rules: ReadonlySet<string>
  readonly #set: RuleSet

  /** @param unclassified also those of organisations of unknown class */
  constructor(rules: readonly string[], unclassified: boolean) {
    this.#rules = new Set(rules)
    this.#set = new RuleSet({ rules, ...(unclassified && { unclassified: 'filtered' }) })
    this.narrowed = unclassified ? undefined : scopeOf(rules)
  }

  /** Whether a rule applies to this event. @param address undefined when it is not stored */
  matches(address: Address | undefined, event: Judged): boolean {
    return (
      this.#set.find(address, event) !== undefined || this.#set.holderOf(address, Number(event.data.asn)) !== undefined
    )
  }

  has(rule: string | undefined): boolean {
    return rule !== undefined && this.#rules.has(rule)
  }
}

/** Stored values as rules see them. @param classification empty: unknown */
export function storedJudged(companyId: string, classification: string, data: EnrichmentData): Judged {
  const known = (classification || undefined) as Classification | undefined
  return { noise: known !== undefined && NOISE.has(known), classification: known, companyId, data }
}

/** A condition that all events of a scope meet, and few others. @param table prefix of columns with its dot */
export function inScope({ networks, asns, domains }: EventScope, table = ''): string {
  const [ip, domain] = [`${table}ip`, `${table}domain`]
  const conditions = networks.map((range) =>
    range.version === 4
      ? `IPv4StringToNumOrDefault(${ip}) BETWEEN ${range.first} AND ${range.last}`
      : `toIPv6OrDefault(${ip}) BETWEEN ${boundsOf(range)}`,
  )
  // An IPv6 address may contain an IPv4 address.
  if (networks.some(({ version }) => version === 4)) conditions.push(`position(${ip}, ':') > 0`)
  if (asns.length > 0) conditions.push(`${table}asn IN (${asns.join()})`)
  if (domains.length > 0) conditions.push(`${table}company_id IN (${domains.map(quote).join()})`)
  for (const name of domains) conditions.push(`${domain} = ${quote(name)} OR endsWith(${domain}, ${quote(`.${name}`)})`)
  return `(${conditions.join(' OR ')})`
}

function scopeOf(rules: readonly string[]): EventScope | undefined {
  const networks: AddressRange[] = []
  const asns: number[] = []
  const domains: string[] = []
  for (const text of rules) {
    const rule = readRule(text)
    if (typeof rule === 'string') return undefined
    const { subject } = rule
    if (subject.of === 'network') networks.push(subject.range)
    else if (subject.of === 'holder' && typeof subject.network !== 'number') networks.push(subject.network)
    else if (subject.of === 'holder') asns.push(subject.network as number)
    else if (subject.of === 'as') asns.push(subject.asn)
    // The key of a name has no dot, and SQL cannot make it from a name.
    else if (subject.of === 'organisation' && subject.id.includes('.')) domains.push(subject.id)
    else return undefined
  }
  return networks.length + asns.length + domains.length === 0 ? undefined : { networks, asns, domains }
}

function boundsOf(range: AddressRange & { readonly version: 6 }): string {
  const bound = (value: bigint) =>
    `toIPv6(${quote(formatRange({ version: 6, first: value, last: value }).split('/')[0]!)})`
  return `${bound(range.first)} AND ${bound(range.last)}`
}
