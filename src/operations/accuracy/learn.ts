import { hash } from 'node:crypto'
import { formatRange, parseCidr } from '../../enrichment/addresses/network.ts'
import type { RuleSet } from '../../enrichment/tenant-rules/rule-set.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import { type Attributed, verdictOf } from './attribution.ts'
import type { Meeting } from './truth.ts'

/** A network whose visitors nearly all have mail of one domain. */
export interface Proposal {
  /** The same while network and domain are. */
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

/** Fewer people may be one household, and fewer days a visit. */
export const PEOPLE_MIN = 3
export const DAYS_MIN = 3
/** A café and a mobile carrier meet many domains, and private mail. */
export const SHARE_MIN = 0.9
/** A network is already attributed when this share of the events is. */
const KNOWN_SHARE = 0.9
/** Meetings in a /24 or /48 above which it is no office. It bounds the memory. */
const MEETINGS_MAX = 20_000
/** As many as a tenant may have rules. */
const PROPOSALS_MAX = 1_000

interface Point extends Meeting {
  readonly value: bigint
}

/** An interval of addresses of one prefix. */
interface Network {
  readonly version: 4 | 6
  readonly first: bigint
  readonly length: number
}

/** Bits of an address, and the lengths of networks that may be proposed. */
const FAMILIES = {
  4: { bits: 32, least: 24, most: 32 },
  6: { bits: 128, least: 48, most: 64 },
} as const

/**
 * Networks that keep meeting one domain and are not attributed to it yet, the most people first. In a mixed network it looks at each half.
 * @param meetings in the order of `ClickHouseTruth.meetings`
 * @param rules of the tenant; undefined for none
 */
export async function proposals(meetings: AsyncIterable<Meeting>, rules: RuleSet | undefined): Promise<Proposal[]> {
  const found: Proposal[] = []
  let points: Point[] = []
  let network = ''
  let isTooMany = false
  const close = () => {
    if (points.length > 0 && !isTooMany) found.push(...proposalsIn(networkOf(points[0]!), points, rules))
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

function proposalsIn(network: Network, points: readonly Point[], rules: RuleSet | undefined): Proposal[] {
  const people = new Map<string, Set<string>>()
  for (const { knownDomain, people: some } of points) {
    const all = people.get(knownDomain) ?? new Set()
    for (const person of some) all.add(person)
    people.set(knownDomain, all)
  }
  const [most] = [...people].filter(([domain]) => domain !== '').sort(([, a], [, b]) => b.size - a.size)
  if (most === undefined || most[1].size < PEOPLE_MIN) return []
  const [domain, { size }] = most
  const share = size / [...people.values()].reduce((sum, all) => sum + all.size, 0)
  const own = points.filter(({ knownDomain }) => knownDomain === domain)
  if (share >= SHARE_MIN) {
    const days = new Set(own.flatMap((point) => point.days)).size
    if (days < DAYS_MIN || isAttributed(own, domain)) return []
    const around = commonNetwork(network, own)
    const proposed = textOf(around)
    if (rules?.holderOf(parseAddress(own[0]!.ip)!)?.subject.domain === domain) return []
    const events = own.reduce((sum, point) => sum + point.events, 0)
    const id = hash('sha256', `${proposed} ${domain}`, 'hex').slice(0, 8)
    const rule = `is ${proposed} ${domain}`
    return [{ id, rule, network: proposed, domain, people: size, share, days, events, now: nowOf(own) }]
  }
  if (network.length >= FAMILIES[network.version].most) return []
  return halves(network).flatMap((half) =>
    proposalsIn(
      half,
      points.filter((point) => isIn(half, point)),
      rules,
    ),
  )
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
    events.set(idOf(company), (events.get(idOf(company)) ?? 0) + some)
  }
  const [[id] = ['']] = [...events].sort(([, a], [, b]) => b - a)
  return id === '' ? null : id
}

function idOf({ companyId }: Attributed): string {
  return companyId
}

function numberOf(ip: string): bigint | undefined {
  const range = parseCidr(ip)
  return typeof range === 'string' ? undefined : BigInt(range.first)
}

/** The /24 or /48 around an address. */
function networkOf({ ip, value }: Point): Network {
  const version = ip.includes(':') ? 6 : 4
  const { bits, least } = FAMILIES[version]
  return { version, first: (value >> BigInt(bits - least)) << BigInt(bits - least), length: least }
}

/** The smallest network around all points, within the lengths that may be proposed. */
function commonNetwork({ version, length: least }: Network, points: readonly Point[]): Network {
  const { bits, most } = FAMILIES[version]
  const values = points.map(({ value }) => value)
  const difference = values.reduce((all, value) => all | (value ^ values[0]!), 0n)
  const same = difference === 0n ? bits : bits - difference.toString(2).length
  const length = Math.max(least, Math.min(most, same))
  return { version, first: (values[0]! >> BigInt(bits - length)) << BigInt(bits - length), length }
}

function halves({ version, first, length }: Network): [Network, Network] {
  const second = first + (1n << BigInt(FAMILIES[version].bits - length - 1))
  return [first, second].map((start) => ({ version, first: start, length: length + 1 })) as [Network, Network]
}

function isIn({ version, first, length }: Network, { value }: Point): boolean {
  const rest = BigInt(FAMILIES[version].bits - length)
  return value >> rest === first >> rest
}

function textOf({ version, first, length }: Network): string {
  const last = first + (1n << BigInt(FAMILIES[version].bits - length)) - 1n
  return version === 4
    ? formatRange({ version, first: Number(first), last: Number(last) })
    : formatRange({ version, first, last })
}
