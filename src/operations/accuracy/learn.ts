import { hash } from 'node:crypto'
import { formatRange, parseCidr } from '../../enrichment/addresses/network.ts'
import type { RuleSet } from '../../enrichment/tenant-rules/rule-set.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import { verdictOf } from './attribution.ts'
import type { Meeting } from './truth.ts'

/** A network whose visitors nearly all have mail of one domain. */
export interface Proposal {
  /** Stays the same while network and domain do. */
  readonly id: string
  /** In the form of `ipid rules add`. */
  readonly rule: string
  readonly network: string
  readonly domain: string
  /** People with mail of the domain. */
  readonly people: number
  /** Their share of all people with an e-mail address who were met in the network, 0 to 1. */
  readonly share: number
  /** UTC days on which they were met. */
  readonly days: number
  readonly events: number
  /** The company of most of their events today; null for none. */
  readonly now: string | null
}

/** Fewer people may be one household, and fewer days one visit. Applies to an address, and to each half of a network. */
export const PEOPLE_MIN = 3
export const DAYS_MIN = 3
/** A café and a mobile carrier meet many domains, and private mail. */
export const SHARE_MIN = 0.9
/** A few addresses prove little about their neighbours: a wider network needs more evidence (`isOffice`). */
const NEIGHBOURS = { 4: 29, 6: 61 } as const
const OFFICES = [
  { 4: 26, 6: 60, people: 6, days: 5, addresses: 4 },
  { 4: 24, 6: 56, people: 12, days: 8, addresses: 8 },
] as const
/** A network is already attributed when this share of the events is. */
const KNOWN_SHARE = 0.9
/** Meetings in a /24 or /48 above which it is no office. It bounds the memory. */
const MEETINGS_MAX = 20_000
/** As many as a tenant may have rules. */
const PROPOSALS_MAX = 1_000

/** For `RuleSet.holderOf`: meetings have no AS. */
const UNKNOWN_AS = 0

interface Point extends Meeting {
  readonly value: bigint
}

/** An interval of addresses of one prefix. */
interface Network {
  readonly version: 4 | 6
  readonly first: bigint
  readonly length: number
}

/** The meetings in a network. */
interface Evidence {
  /** The domain of the most people; `''` for none. */
  readonly domain: string
  /** People with mail of the domain. */
  readonly people: number
  /** Share of all people, 0 to 1. */
  readonly share: number
  /** UTC days on which people of the domain were met. */
  readonly days: number
}

/** Bits of an address, and the prefix length that counts as one address: devices change theirs within a /64 of IPv6. */
const FAMILIES = {
  4: { bits: 32, address: 32 },
  6: { bits: 128, address: 64 },
} as const

/**
 * Networks that keep meeting one domain and are not attributed to it yet, the most people first. In each /24 or /48 it looks at the
 * smallest network around all people, and at each half of that if it is not proposed. It proposes
 *
 * - an address (a /64 of IPv6) with 3 people of one domain on 3 days, who are 90 % of all people there;
 * - a network that has 3 people on 3 days in each of its halves, and either
 *   - is a /29 (/61) or smaller, 90 % of the people at each address in it have the same domain, and at least half of them
 *     were met at addresses that would be proposed by themselves; or
 *   - is an office: only one domain was met, by 6 people on 5 days at 4 addresses in a /26 (/60) or smaller, or by 12 people on
 *     8 days at 8 addresses in a /24 (/56) or smaller.
 *
 * @param meetings in the order of `ClickHouseTruth.meetings`
 * @param rules of the tenant; undefined for none
 */
export async function proposals(meetings: AsyncIterable<Meeting>, rules: RuleSet | undefined): Promise<Proposal[]> {
  const found: Proposal[] = []
  let points: Point[] = []
  let network = ''
  let isTooMany = false
  const close = () => {
    if (points.length > 0 && !isTooMany) found.push(...proposalsIn(points, rules))
    if (found.length > 2 * PROPOSALS_MAX) found.splice(0, found.length, ...mostPeople(found))
    points = []
    isTooMany = false
  }
  for await (const meeting of meetings) {
    if (meeting.network !== network) close()
    network = meeting.network
    const value = numberOf(meeting.ip)
    if (value === undefined) continue
    if (points.length < MEETINGS_MAX) points.push({ ...meeting, value })
    else isTooMany = true
  }
  close()
  return mostPeople(found)
}

function mostPeople(found: readonly Proposal[]): Proposal[] {
  return [...found]
    .sort((a, b) => b.people - a.people || b.events - a.events || (a.network < b.network ? -1 : 1))
    .slice(0, PROPOSALS_MAX)
}

function proposalsIn(points: readonly Point[], rules: RuleSet | undefined): Proposal[] {
  const network = commonNetwork(points)
  const evidence = evidenceOf(points)
  if (isAddress(network) ? isEnough(evidence) : isDense(network, points, evidence)) {
    const proposal = proposalOf(network, points, evidence, rules)
    return proposal === undefined ? [] : [proposal]
  }
  return isAddress(network) ? [] : halvesOf(network, points).flatMap((half) => proposalsIn(half, rules))
}

/** @returns undefined when the network is attributed to the domain, or has rules that do so */
function proposalOf(
  network: Network,
  points: readonly Point[],
  { domain, people, share, days }: Evidence,
  rules: RuleSet | undefined,
): Proposal | undefined {
  const own = points.filter(({ knownDomain }) => knownDomain === domain)
  const hasRule = ({ ip }: Point) => rules?.holderOf(parseAddress(ip)!, UNKNOWN_AS)?.subject.domain === domain
  if (isAttributed(own, domain) || own.every(hasRule)) return undefined
  const proposed = textOf(network)
  const events = own.reduce((sum, point) => sum + point.events, 0)
  const id = hash('sha256', `${proposed} ${domain}`, 'hex').slice(0, 8)
  const rule = `is ${proposed} ${domain}`
  return { id, rule, network: proposed, domain, people, share, days, events, now: nowOf(own) }
}

function evidenceOf(points: readonly Point[]): Evidence {
  const people = new Map<string, Set<string>>()
  for (const { knownDomain, people: some } of points) {
    const all = people.get(knownDomain) ?? new Set()
    for (const person of some) all.add(person)
    people.set(knownDomain, all)
  }
  const all = [...people.values()].reduce((sum, { size }) => sum + size, 0)
  const [most] = [...people].filter(([known]) => known !== '').sort(([, a], [, b]) => b.size - a.size)
  const [domain, { size }] = most ?? ['', new Set()]
  const days = new Set(points.flatMap((point) => (point.knownDomain === domain ? point.days : []))).size
  return { domain, people: size, share: size / all, days }
}

function isEnough({ people, days, share }: Evidence): boolean {
  return people >= PEOPLE_MIN && days >= DAYS_MIN && share >= SHARE_MIN
}

/** Whether the evidence is spread over a network of several addresses, and enough for its size. */
function isDense(network: Network, points: readonly Point[], evidence: Evidence): boolean {
  if (!isEnough(evidence)) return false
  const isOfDomain = (some: Evidence) => isEnough(some) && some.domain === evidence.domain
  if (!halvesOf(network, points).map(evidenceOf).every(isOfDomain)) return false
  const addresses = byAddress(network, points)
  return isOffice(network, evidence, addresses.length) || areNeighbours(network, evidence, addresses)
}

/** People who use many addresses of their office. */
function isOffice({ version, length }: Network, { people, days, share }: Evidence, addresses: number): boolean {
  return (
    share === 1 &&
    OFFICES.some(
      (least) =>
        length >= least[version] && people >= least.people && days >= least.days && addresses >= least.addresses,
    )
  )
}

/** Addresses next to one another that meet the same people. */
function areNeighbours({ version, length }: Network, { domain }: Evidence, addresses: readonly Point[][]): boolean {
  if (length < NEIGHBOURS[version]) return false
  const each = addresses.map(evidenceOf)
  if (each.some((one) => one.domain !== domain || one.share < SHARE_MIN)) return false
  const enough = addresses.filter((_, i) => isEnough(each[i]!))
  if (enough.length < 2) return false
  return 2 * evidenceOf(enough.flat()).people >= evidenceOf(addresses.flat()).people
}

function byAddress({ version }: Network, points: readonly Point[]): Point[][] {
  const rest = BigInt(FAMILIES[version].bits - FAMILIES[version].address)
  const addresses = new Map<bigint, Point[]>()
  for (const point of points) {
    const address = point.value >> rest
    const same = addresses.get(address)
    if (same === undefined) addresses.set(address, [point])
    else same.push(point)
  }
  return [...addresses.values()]
}

function isAttributed(points: readonly Point[], domain: string): boolean {
  let right = 0
  let all = 0
  for (const { company, events } of points) {
    all += events
    if (verdictOf(company, domain) === 'right') right += events
  }
  return right >= all * KNOWN_SHARE
}

/** The company of most events. */
function nowOf(points: readonly Point[]): string | null {
  const events = new Map<string, number>()
  for (const { company, events: some } of points) {
    events.set(company.companyId, (events.get(company.companyId) ?? 0) + some)
  }
  const [[id] = ['']] = [...events].sort(([, a], [, b]) => b - a)
  return id === '' ? null : id
}

function numberOf(ip: string): bigint | undefined {
  const range = parseCidr(ip)
  return typeof range === 'string' ? undefined : BigInt(range.first)
}

/** The smallest network around all points. */
function commonNetwork(points: readonly Point[]): Network {
  const [{ ip, value: some }] = points as readonly [Point]
  const version = ip.includes(':') ? 6 : 4
  const { bits, address } = FAMILIES[version]
  const difference = points.reduce((all, { value }) => all | (value ^ some), 0n)
  const same = difference === 0n ? bits : bits - difference.toString(2).length
  const length = Math.min(address, same)
  return { version, first: (some >> BigInt(bits - length)) << BigInt(bits - length), length }
}

function isAddress({ version, length }: Network): boolean {
  return length === FAMILIES[version].address
}

/** Both have points, because the network is the smallest around them. */
function halvesOf({ version, first, length }: Network, points: readonly Point[]): [Point[], Point[]] {
  const middle = first + (1n << BigInt(FAMILIES[version].bits - length - 1))
  return [points.filter(({ value }) => value < middle), points.filter(({ value }) => value >= middle)]
}

function textOf({ version, first, length }: Network): string {
  const last = first + (1n << BigInt(FAMILIES[version].bits - length)) - 1n
  return version === 4
    ? formatRange({ version, first: Number(first), last: Number(last) })
    : formatRange({ version, first, last })
}
