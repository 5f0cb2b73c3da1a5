import type { SourceFacts } from '../../../schemas/api-key.ts'
import { type FilteredBy, type FilteredCounts, filteredText, mostFirst, NO_PAGE } from '../../../schemas/filtered.ts'
import type { SourceGroup } from '../../pipeline/declaration/source.ts'
import { countText, numbered } from '../../run/counted.ts'
import { EVENTS_MIN, PROXIED_SHARE, type Proxied, proxiedOf, proxiedText, shareText } from './proxied.ts'

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
  /** Filtered events by reason. */
  readonly filteredToday: FilteredCounts
  readonly filteredRecent: FilteredCounts
  /** Receipt of the last stored event of the last 14 days, milliseconds since the epoch. */
  readonly lastEventMs?: number | undefined
  /** The longest time between two hours with stored events in the last 14 days; undefined: too few hours to say. */
  readonly longestPauseMs?: number | undefined
  /** The address of all stored events of `recent`, or the network of IPv4 /24 or IPv6 /48; undefined when there are several, or none. */
  readonly onlyFrom?: string | undefined
  /** Median of receipt minus timestamp of stored events of `recent`, milliseconds. */
  readonly delayMs?: number | undefined
}

export const NO_EVENTS: SourceEvents = {
  ...{ stored: 0, filtered: 0, noIp: 0, invalidIp: 0, rejected: 0, repeats: 0, other: 0 },
}

export const NO_COUNTS: SourceCounts = {
  ...{ today: NO_EVENTS, recent: NO_EVENTS, rejectedReasons: [], filteredToday: {}, filteredRecent: {} },
}

/** A source, as far as its health depends on it. */
export interface JudgedSource {
  readonly id: string
  readonly tenantId: string
  readonly group: SourceGroup
  readonly address: SourceFacts['address']
  /** Last request with its key, milliseconds since the epoch; undefined: never. */
  readonly lastUsedMs?: number | undefined
  readonly isRevoked: boolean
  /** Whether its sender repeats events by design. Default: false. */
  readonly repeatsByDesign?: boolean
  /** The line of code that gives an event the address of its visitor. */
  readonly addressLine?: string | undefined
  /** Whether its senders reach ipid at a loopback address, so that their connections come from this machine. Default: false. */
  readonly isOnThisMachine?: boolean
}

export const FINDINGS = [
  'silent',
  'no_address',
  'invalid_address',
  'proxy',
  'filtered',
  'one_address',
  'one_network',
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

/** Fewer events prove nothing about clocks and repeats. */
const TIMED_MIN = 20
/** A source is silent after this many of its longest pauses, and never before `SILENT_MIN_MS`. */
const PAUSES = 2
const SILENT_MIN_MS = 2 * HOUR_MS
/** A page that was open for a while, and a slow network, stay below it. */
const CLOCK_MAX_MS = 5 * MINUTE_MS
const REPEATS_MAX_SHARE = 0.2

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

const RULES: readonly Rule[] = [
  silent,
  noAddress,
  invalidAddress,
  proxy,
  filtered,
  oneNetwork,
  clock,
  rejected,
  retries,
]

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

/** Events that may be visits. */
function visitsOf({ recent, filteredRecent }: SourceCounts): number {
  return sumOf(recent) - (filteredRecent[NO_PAGE] ?? 0)
}

function noAddress({ group, address, addressLine }: JudgedSource, counts: SourceCounts): Finding | undefined {
  const { recent } = counts
  const all = visitsOf(counts)
  if (recent.noIp * 2 <= all || recent.noIp === 0) return undefined
  const text = `${shareText(recent.noIp, all)} since yesterday had no address of a visitor, so no company can be found.`
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

function invalidAddress({ addressLine }: JudgedSource, counts: SourceCounts): Finding | undefined {
  const { recent } = counts
  const all = visitsOf(counts)
  if (recent.invalidIp * 2 <= all || recent.invalidIp === 0) return undefined
  return {
    kind: 'invalid_address',
    text: `${shareText(recent.invalidIp, all)} since yesterday had an invalid address.`,
    mend: 'Send one IPv4 or IPv6 address of the visitor as text, not the name of a host.',
    ...(addressLine && { code: addressLine }),
  }
}

/** Undefined: most of its events do not come from infrastructure. */
function proxiedIn(counts: SourceCounts): Proxied | undefined {
  return proxiedOf(counts.filteredRecent, visitsOf(counts) - counts.recent.repeats)
}

function proxy(source: JudgedSource, counts: SourceCounts): Finding | undefined {
  const proxied = proxiedIn(counts)
  if (proxied === undefined) return undefined
  if (isOwnMachine(source, proxied.by) && proxied.by_events === proxied.events) {
    return {
      kind: 'proxy',
      text: `${shareText(proxied.events, proxied.all)} since yesterday were filtered, because ${OWN_MACHINE}.`,
      mend:
        'Open the page from another network, at an address of ipid that your visitors reach. If a proxy on this machine passes them on, ' +
        'it must send X-Forwarded-For.',
    }
  }
  return { kind: 'proxy', text: proxiedText(proxied, 'since yesterday '), ...proxyRemedy(source, proxied.by) }
}

/** Why the visits of a newcomer are filtered. */
export const OWN_MACHINE = '127.0.0.1 is your own machine'

/** Whether addresses of a class can only be that of this machine: the source counts connections, and they arrive at loopback. */
export function isOwnMachine({ group, address, isOnThisMachine }: JudgedSource, by: FilteredBy): boolean {
  return by === 'reserved' && isOnThisMachine === true && (group === 'website' || address === 'connection')
}

/** Nothing is stored, and no proxy explains it. */
function filtered({ id, tenantId }: JudgedSource, counts: SourceCounts): Finding | undefined {
  const { recent, filteredRecent } = counts
  const all = sumOf(recent)
  const isMost = recent.filtered >= Math.max(EVENTS_MIN, PROXIED_SHARE * all)
  if (!isMost || recent.stored + recent.repeats > 0 || proxiedIn(counts) !== undefined) return undefined
  const reasons = mostFirst(filteredRecent)
  const [by] = reasons.find(([name]) => name !== NO_PAGE) ?? reasons[0] ?? ['other' as const]
  return {
    kind: 'filtered',
    text: `${shareText(recent.filtered, all)} since yesterday were filtered as noise: ${filteredText(filteredRecent)}.`,
    ...filteredRemedy(by, tenantId, id),
  }
}

function filteredRemedy(by: FilteredBy, tenantId: string, id: string): Pick<Finding, 'mend' | 'code'> {
  switch (by) {
    case 'isp':
      return {
        mend: 'Visitors at home and on phones have no known company. This stores their events without one:',
        code: `./ipid rules add ${tenantId} keep isp`,
      }
    case 'bot':
      return { mend: 'If they are people, send the user agent of the visitor, not the one of your program.' }
    case NO_PAGE:
      return {
        mend: 'A page view is a GET that was answered 2xx or 304, and not with a style, script or image. This stores all requests:',
        code: `./ipid source set ${id} --all`,
      }
    case 'own':
    case 'always_noise':
    case 'unclassified':
      return { mend: 'Rules of your own decide this:', code: `./ipid rules list ${tenantId}` }
    default:
      return { mend: 'This says why for one address:', code: `./ipid rules check ${tenantId} ADDRESS` }
  }
}

function oneNetwork(source: JudgedSource, { recent, onlyFrom }: SourceCounts): Finding | undefined {
  if (onlyFrom === undefined || recent.stored < EVENTS_MIN) return undefined
  const isNetwork = onlyFrom.includes('/') && !onlyFrom.includes('#')
  const { mend, ...code } = proxyRemedy(source)
  return {
    kind: isNetwork ? 'one_network' : 'one_address',
    text: `All ${countText(recent.stored)} events stored since yesterday have ${isNetwork ? 'addresses of one network' : 'one address'}, ${onlyFrom}.`,
    mend: `If you are the only visitor so far, all is well. If not: ${mend.charAt(0).toLowerCase()}${mend.slice(1)}`,
    ...code,
  }
}

/** The most likely machine in between, and the remedy. */
function proxyRemedy(
  { id, group, address, addressLine }: JudgedSource,
  by?: FilteredBy,
): Pick<Finding, 'mend' | 'code'> {
  const isCdn = by === 'cdn'
  const networks = isCdn
    ? 'it in TRUSTED_PROXIES: cloudflare, fastly, google, or its networks'
    : 'its network in TRUSTED_PROXIES'
  if (group === 'website' || address === 'connection') {
    const which = isCdn ? 'CDN' : 'proxy or load balancer'
    return {
      mend: `That is most likely your ${which}: name ${networks}, so that the header with the visitor’s address counts.`,
    }
  }
  if (group === 'libraries') {
    return {
      mend: `That is most likely your own server: give each event the address of its visitor. If it is a proxy, name ${networks}.`,
      ...(addressLine && { code: addressLine }),
    }
  }
  const logged = `let the server log X-Forwarded-For${isCdn ? `, and name ${networks} (ipid sync: --trusted-proxies)` : ''}`
  if (group === 'pulls') return { mend: `That is most likely a proxy: ${logged}.` }
  return {
    mend: `That is most likely a proxy: ${logged}. nginx: "$http_x_forwarded_for" at the end of log_format. In JSON, say which field has it:`,
    code: `./ipid source set ${id} --map ip=FIELD`,
  }
}

function clock({ group }: JudgedSource, { recent, delayMs = 0 }: SourceCounts): Finding | undefined {
  // Logs and files arrive at any time.
  const sendsAtOnce = group === 'website' || group === 'libraries'
  if (!sendsAtOnce || recent.stored < TIMED_MIN || Math.abs(delayMs) < CLOCK_MAX_MS) return undefined
  const way = delayMs > 0 ? 'before' : 'after'
  return {
    kind: 'clock',
    text: `Half of its events or more have a time that is ${span(Math.abs(delayMs))} ${way} their arrival.`,
    mend: 'Set the clock and the time zone of the sender, or let it send events at once.',
  }
}

function rejected(_source: JudgedSource, { recent, rejectedReasons: [first] }: SourceCounts): Finding | undefined {
  if (recent.rejected === 0) return undefined
  const most = first === undefined || first.reason === '' ? '' : `, ${countText(first.events)} because ${first.reason}`
  return {
    kind: 'rejected',
    text: `${shareText(recent.rejected, sumOf(recent))} since yesterday were rejected${most}.`,
    mend: 'Correct this where the event is made; all other events are stored.',
  }
}

function retries({ repeatsByDesign }: JudgedSource, { recent }: SourceCounts): Finding | undefined {
  const kept = recent.stored + recent.repeats
  if (repeatsByDesign || kept < TIMED_MIN || recent.repeats < REPEATS_MAX_SHARE * kept) return undefined
  return {
    kind: 'retries',
    text: `${shareText(recent.repeats, kept)} since yesterday were repeats; each event is counted once.`,
    mend: 'Its sender did not get an answer in time: raise its time-out, or send fewer events at a time.',
  }
}

const SPANS = [
  [DAY_MS, 'day'],
  [HOUR_MS, 'hour'],
  [MINUTE_MS, 'minute'],
] as const

function span(ms: number): string {
  const [unitMs, unit] = SPANS.find(([size]) => ms >= 2 * size) ?? SPANS[2]
  const n = Math.max(1, Math.round(ms / unitMs))
  return numbered(n, unit)
}
