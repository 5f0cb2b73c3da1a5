import type { SourceFacts } from '../../../schemas/api-key.ts'
import type { Classification } from '../../../schemas/classification.ts'
import type { SourceGroup } from '../../pipeline/declaration/source.ts'

/*
 * The rules for the health of a source: findings from its counts, each with its remedy. They are pure, and look at events since
 * yesterday 0:00 UTC, so that a source that sends little is judged too.
 */

/** Events of a source by outcome. */
export interface SourceEvents {
  readonly stored: number
  /** Noise, and events that a rule of the tenant drops. */
  readonly filtered: number
  /** Without an address. */
  readonly noIp: number
  readonly invalidIp: number
  readonly rejected: number
  /** Repeats of kept events. */
  readonly repeats: number
  /** Dead letters, and events that a stage of your own drops. */
  readonly other: number
}

/** ClickHouse's facts about a source. Days are those of receipt, UTC. */
export interface SourceCounts {
  readonly today: SourceEvents
  /** Events of today and yesterday. */
  readonly recent: SourceEvents
  /** Reasons in `recent`, most events first. */
  readonly rejectedReasons: readonly { readonly reason: string; readonly events: number }[]
  /** Filtered events of `recent` by the class of their addresses. */
  readonly filteredClasses: Readonly<Partial<Record<Classification, number>>>
  /** Receipt of the last stored event of the last 14 days, milliseconds since the epoch. */
  readonly lastEventMs?: number | undefined
  /** The longest time between two hours with stored events in the last 14 days; undefined: too few hours to say. */
  readonly longestPauseMs?: number | undefined
  /** The address of all stored events of `recent`; undefined when there are several, or none. */
  readonly onlyIp?: string | undefined
  /** Median of receipt minus timestamp of stored events of `recent`, milliseconds. */
  readonly delayMs?: number | undefined
}

export const NO_EVENTS: SourceEvents = {
  ...{ stored: 0, filtered: 0, noIp: 0, invalidIp: 0, rejected: 0, repeats: 0, other: 0 },
}

export const NO_COUNTS: SourceCounts = {
  ...{ today: NO_EVENTS, recent: NO_EVENTS, rejectedReasons: [], filteredClasses: {} },
}

/** A source, as far as its health depends on it. */
export interface JudgedSource {
  readonly group: SourceGroup
  readonly address: SourceFacts['address']
  /** Last request with its key, milliseconds since the epoch; undefined: never. */
  readonly lastUsedMs?: number | undefined
  readonly isRevoked: boolean
  /** Whether its sender repeats events by design. Default: false. */
  readonly repeatsByDesign?: boolean
  /** The line of code that gives an event the address of its visitor. */
  readonly addressLine?: string | undefined
}

export const FINDINGS = [
  'silent',
  'no_address',
  'invalid_address',
  'proxy',
  'one_address',
  'clock',
  'rejected',
  'retries',
] as const

/** A problem of a source. */
export interface Finding {
  readonly kind: (typeof FINDINGS)[number]
  /** The observation, a sentence. */
  readonly text: string
  /** The remedy, a sentence. */
  readonly mend: string
  /** A line of code that belongs to `mend`. */
  readonly code?: string
}

/** `waiting`: nothing has arrived yet. `attention`: there are findings. */
export type SourceState = 'waiting' | 'good' | 'attention' | 'revoked'

export interface SourceHealth {
  readonly state: SourceState
  /** The worst first. */
  readonly findings: readonly Finding[]
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Fewer events prove nothing. */
const EVENTS_MIN = 20
/** A source is silent after this many of its longest pauses, and never before `SILENT_MIN_MS`. */
const PAUSES = 2
const SILENT_MIN_MS = 2 * HOUR_MS
/** A page that was open for a while, and a slow network, stay below it. */
const CLOCK_MAX_MS = 5 * MINUTE_MS
const REPEATS_MAX_SHARE = 0.2
const PROXY_MIN_SHARE = 0.8

/** Judges a source. @param nowMs milliseconds since the epoch */
export function healthOf(source: JudgedSource, counts: SourceCounts, nowMs: number): SourceHealth {
  if (source.isRevoked) return { state: 'revoked', findings: [] }
  const findings = RULES.flatMap((rule) => rule(source, counts, nowMs) ?? [])
  if (findings.length > 0) return { state: 'attention', findings }
  const hasEvents = counts.lastEventMs !== undefined || sumOf(counts.recent) > 0
  return { state: hasEvents || source.lastUsedMs !== undefined ? 'good' : 'waiting', findings }
}

/** All events that arrived. */
export function sumOf(events: SourceEvents): number {
  return Object.values(events).reduce((sum, n) => sum + n, 0)
}

type Rule = (source: JudgedSource, counts: SourceCounts, nowMs: number) => Finding | undefined

const RULES: readonly Rule[] = [silent, noAddress, invalidAddress, proxy, oneAddress, clock, rejected, retries]

const CHECKS: Readonly<Record<SourceGroup, string>> = {
  website: 'Check that the script tag is still in your pages, with this key.',
  libraries: 'Check that your program runs, and still has this host and key.',
  shippers: 'Check that the log shipper runs, and still has this address and key.',
  pulls: 'Check the state of its last fetch, and that its credentials still work.',
}

function silent(source: JudgedSource, counts: SourceCounts, nowMs: number): Finding | undefined {
  const { longestPauseMs: pauseMs, lastEventMs = 0 } = counts
  const idleMs = nowMs - Math.max(lastEventMs, source.lastUsedMs ?? 0)
  if (pauseMs === undefined || idleMs < Math.max(PAUSES * pauseMs, SILENT_MIN_MS)) return undefined
  return {
    kind: 'silent',
    text: `Nothing has arrived for ${span(idleMs)}; its longest pause in two weeks was ${span(pauseMs)}.`,
    mend: CHECKS[source.group],
  }
}

function noAddress({ group, address, addressLine }: JudgedSource, { recent }: SourceCounts): Finding | undefined {
  const all = sumOf(recent)
  if (recent.noIp * 2 <= all || recent.noIp === 0) return undefined
  const text = `${share(recent.noIp, all)} since yesterday had no address of a visitor, so no company can be found.`
  if (group === 'website') {
    return {
      kind: 'no_address',
      text,
      mend: 'Set its addresses to auto: the browser brings the address of the visitor.',
    }
  }
  const mend =
    address === 'connection'
      ? 'Set its addresses to auto, so that the address in an event counts.'
      : 'Give each event the address of its visitor.'
  return { kind: 'no_address', text, mend, ...(addressLine && { code: addressLine }) }
}

function invalidAddress({ addressLine }: JudgedSource, { recent }: SourceCounts): Finding | undefined {
  const all = sumOf(recent)
  if (recent.invalidIp * 2 <= all || recent.invalidIp === 0) return undefined
  return {
    kind: 'invalid_address',
    text: `${share(recent.invalidIp, all)} since yesterday had an invalid address.`,
    mend: 'Send one IPv4 or IPv6 address as text, not a list, a host name or a port.',
    ...(addressLine && { code: addressLine }),
  }
}

const INFRASTRUCTURE: Readonly<Partial<Record<Classification, string>>> = {
  reserved: 'a private network',
  hosting: 'a hosting provider',
  cloud: 'a cloud',
  cdn: 'a content delivery network',
  vpn: 'a VPN or security gateway',
}

/** Addresses of infrastructure are filtered, so nearly all events of one class mean a machine in between. */
function proxy(source: JudgedSource, { recent, filteredClasses }: SourceCounts): Finding | undefined {
  const all = sumOf(recent) - recent.repeats
  for (const [name, events = 0] of Object.entries(filteredClasses)) {
    const where = INFRASTRUCTURE[name as Classification]
    if (where === undefined || all < EVENTS_MIN || events < PROXY_MIN_SHARE * all) continue
    const text = `${share(events, all)} since yesterday came from addresses of ${where}, and were filtered as noise.`
    return { kind: 'proxy', text, ...proxyRemedy(source) }
  }
  return undefined
}

function oneAddress(source: JudgedSource, { recent, onlyIp }: SourceCounts): Finding | undefined {
  if (onlyIp === undefined || recent.stored < EVENTS_MIN) return undefined
  return {
    kind: 'one_address',
    text: `All ${count(recent.stored)} events stored since yesterday have one address, ${onlyIp}.`,
    ...proxyRemedy(source),
  }
}

/** The most likely machine in between, and the remedy. */
function proxyRemedy({ group, address, addressLine }: JudgedSource): Pick<Finding, 'mend' | 'code'> {
  if (group === 'website' || address === 'connection') {
    return { mend: 'That is most likely your proxy or load balancer: name its network in TRUSTED_PROXIES.' }
  }
  if (group === 'libraries') {
    return {
      mend: 'That is most likely your own server: give each event the address of its visitor, or name a proxy in TRUSTED_PROXIES.',
      ...(addressLine && { code: addressLine }),
    }
  }
  return { mend: 'That is most likely a proxy: let the server log the address that X-Forwarded-For names.' }
}

function clock({ group }: JudgedSource, { recent, delayMs = 0 }: SourceCounts): Finding | undefined {
  // Logs and files arrive at any time.
  const sendsAtOnce = group === 'website' || group === 'libraries'
  if (!sendsAtOnce || recent.stored < EVENTS_MIN || Math.abs(delayMs) < CLOCK_MAX_MS) return undefined
  const way = delayMs > 0 ? 'before' : 'after'
  return {
    kind: 'clock',
    text: `Half of its events or more have a time that is ${span(Math.abs(delayMs))} ${way} their arrival.`,
    mend: 'Set the clock and the time zone of the sender, or let it send events at once.',
  }
}

function rejected(_source: JudgedSource, { recent, rejectedReasons: [first] }: SourceCounts): Finding | undefined {
  if (recent.rejected === 0) return undefined
  const most = first === undefined || first.reason === '' ? '' : `, ${count(first.events)} because ${first.reason}`
  return {
    kind: 'rejected',
    text: `${share(recent.rejected, sumOf(recent))} since yesterday were rejected${most}.`,
    mend: 'Correct this where the event is made; all other events are stored.',
  }
}

function retries({ repeatsByDesign }: JudgedSource, { recent }: SourceCounts): Finding | undefined {
  const kept = recent.stored + recent.repeats
  if (repeatsByDesign || kept < EVENTS_MIN || recent.repeats < REPEATS_MAX_SHARE * kept) return undefined
  return {
    kind: 'retries',
    text: `${share(recent.repeats, kept)} since yesterday were repeats; each event is counted once.`,
    mend: 'Its sender did not get an answer in time: raise its time-out, or send fewer events at a time.',
  }
}

function share(part: number, whole: number): string {
  return part === whole ? `All ${count(whole)} events` : `${count(part)} of ${count(whole)} events`
}

function count(n: number): string {
  return n.toLocaleString('en-US')
}

const SPANS = [
  [DAY_MS, 'day'],
  [HOUR_MS, 'hour'],
  [MINUTE_MS, 'minute'],
] as const

function span(ms: number): string {
  const [unitMs, unit] = SPANS.find(([size]) => ms >= 2 * size) ?? SPANS[2]
  const n = Math.max(1, Math.round(ms / unitMs))
  return `${count(n)} ${unit}${n === 1 ? '' : 's'}`
}
