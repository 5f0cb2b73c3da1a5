import { type Address, parseAddress } from './address.ts'
import { NetworkSet } from './network-set.ts'

/*
 * How headers, log lines and fields of events write a client's address, and which address of a list is the visitor's.
 *
 * Standards: IPv6 text is RFC 4291 section 2.2, its canonical form RFC 5952. Brackets and zones are the host of a URI (RFC 3986
 * section 3.2.2, RFC 6874). `Forwarded`, ports, `unknown` and `_hidden` are RFC 7239 section 6. `X-Forwarded-For` has no standard: by
 * custom each proxy appends the address that it sees, so the nearest proxy's entry is the last one.
 *
 * The rule: walk a list from its right end, and pass every address of a proxy. The first other address is the visitor's. Everything to
 * the left of it may have been written by the visitor, so it never counts.
 *
 * - A header of a live request passes trusted proxies only. An entry that is no address ends the walk: nothing to the left of it is
 *   vouched for.
 * - A list from a log or a field also passes private addresses, which no visitor of a website has, and entries that are no address. The
 *   sender of the log or the field is believed anyway.
 *
 * Work is linear, and bounded by the constants below.
 */

/** Longest spelling of one address: IPv6 with IPv4 at its end, a zone, brackets, quotes, and a port. */
const ENTRY_MAX_CHARS = 160
/** The right end of a list that is read. */
const LIST_MAX_CHARS = 4_096
/** Longest value of `Forwarded` that is read. */
const FORWARDED_MAX_CHARS = 8_192

/** A proxy, as far as it matters for the entries to the left of its own. */
export interface ProxyHop {
  /** Entries that the proxy adds after the one of its client, such as its own public address. */
  readonly ownEntries?: number
  /** Its networks also have clients, such as users of its VPN. So of two entries in a row the left one is a client. */
  readonly hasClients?: boolean
}

/** The proxies that a walk passes. */
export interface Proxies {
  /** Undefined: the address is not that of a proxy. */
  find(address: Address): ProxyHop | undefined
}

/** No proxy is trusted. */
export const NO_PROXIES: Proxies = { find: () => undefined }

/** `[IPv6%zone]`, `IPv4` or `[IPv4]`, each with or without a port; or `IPv6%zone`. A port may be obfuscated: `_gazonk`. */
const WRITTEN =
  /^(?:(?:\[([\da-f:.]{2,45})(?:%[\w.~%-]{1,32})?\]|([\d.]{7,15}))(?::(?:\d{1,5}|_[\w.-]{1,32}))?|([\da-f]{0,4}:[\da-f:.]{1,40})%[\w.~-]{1,32})$/i

/**
 * Reads one address, also in quotes and with brackets, a port, a zone, or blanks around it. IPv4-mapped IPv6 is IPv4.
 * @returns undefined for everything else: lists, names of hosts, `-`, `unknown`, `_hidden`
 */
export function readAddress(written: string): Address | undefined {
  const plain = parseAddress(written)
  if (plain !== undefined || written.length > ENTRY_MAX_CHARS) return plain
  const bare = bareText(written)
  const [, inBrackets, v4, withZone] = WRITTEN.exec(bare) ?? []
  return parseAddress(inBrackets ?? v4 ?? withZone ?? bare)
}

/**
 * Reads an address that always has a port after it, so that IPv6 needs no brackets: `2001:db8::1:443` is `2001:db8::1`. AWS writes
 * addresses in this form.
 */
export function readAddressBeforePort(written: string): Address | undefined {
  const bare = written.length > ENTRY_MAX_CHARS ? '' : bareText(written)
  const colon = bare.lastIndexOf(':')
  return /^:\d{1,5}$/.test(bare.slice(colon)) ? readAddress(bare.slice(0, colon)) : undefined
}

const NO_ADDRESS = /^(?:-|unknown(?::\w{1,33})?|_[\w.-]{1,100}(?::\w{1,33})?)?$/i

/** Whether a text says that there is no address: `''`, `-`, `unknown`, or an obfuscated name such as `_hidden`. */
export function saysNoAddress(written: string): boolean {
  return written.length <= ENTRY_MAX_CHARS && NO_ADDRESS.test(bareText(written))
}

/** Whether a text is an address, or a list with one. */
export function hasAddress(list: string): boolean {
  return entriesOf(list).some((entry) => readAddress(entry) !== undefined)
}

/**
 * The client of a live request, by the list in a header of it.
 * @param list the value of `X-Forwarded-For`, or the entries of another header from left to right
 * @param peer the proxy that sent the request
 * @returns undefined when no entry names an address other than a trusted proxy's
 */
export function clientIn(list: string | readonly string[], proxies: Proxies, peer?: ProxyHop): Address | undefined {
  return walk(typeof list === 'string' ? entriesOf(list) : list, proxies, peer, false)
}

/**
 * The visitor of a request in a log. The list counts only if the peer is private or a trusted proxy, or missing: anybody can send
 * `X-Forwarded-For`, and a peer that is on the internet itself is the visitor.
 * @param peer address of the connection, or a list in its place, as the log has it
 * @param list the value of `X-Forwarded-For`
 * @returns in canonical form; the peer unchanged when it is no address
 */
export function visitorOfRequest(
  peer: string | undefined,
  list: string | undefined,
  trusted: Proxies = NO_PROXIES,
): string | undefined {
  // Traefik writes the list in place of the peer.
  if (peer?.includes(',')) return visitorInField(peer, trusted)
  const address = peer === undefined ? undefined : readAddress(peer)
  const own = address?.text ?? peer
  const proxies = withPrivate(trusted)
  const proxy = address && proxies.find(address)
  if (proxy === undefined && !isLocal(peer, address)) return own
  return (list && walk(entriesOf(list), proxies, proxy, true)?.text) || own
}

/**
 * The visitor of a request whose log does not say which value is `X-Forwarded-For`. Others may be headers that the visitor writes, such as
 * `Host`. So values that name different visitors count as none: what a visitor writes cannot replace what its proxy wrote.
 */
export function visitorIfAgreed(
  peer: string | undefined,
  lists: readonly string[],
  trusted?: Proxies,
): string | undefined {
  const own = visitorOfRequest(peer, undefined, trusted)
  let found: string | undefined
  for (const list of lists) {
    const visitor = visitorOfRequest(peer, list, trusted)
    if (visitor === own || visitor === found) continue
    if (found !== undefined) return own
    found = visitor
  }
  return found ?? own
}

/** Whether the peer of a request in a log is private or a trusted proxy, so that it can name another client. */
export function isProxyIn(peer: string, trusted: Proxies = NO_PROXIES): boolean {
  const address = readAddress(peer)
  return address !== undefined && withPrivate(trusted).find(address) !== undefined
}

/** Whether a peer that is no address is on the same machine: nginx writes `unix:` for a socket. */
function isLocal(peer: string | undefined, address: Address | undefined): boolean {
  return address === undefined && (peer === undefined || peer.startsWith('unix:') || saysNoAddress(peer))
}

/**
 * The visitor in a field of an event: an address or a list, in any spelling. In a list that has only private addresses and
 * trusted proxies, the first one is nearest to the visitor.
 * @returns a plain address as it is; undefined when the field says that there is no address; a text without an address as it is, so
 * that it can be reported
 */
export function visitorInField(written: string, trusted: Proxies = NO_PROXIES): string | undefined {
  if (parseAddress(written) !== undefined) return written
  const entries = entriesOf(written)
  const found = walk(entries, withPrivate(trusted), undefined, true) ?? firstAddress(entries)
  if (found !== undefined) return found.text
  return entries.every(saysNoAddress) ? undefined : written
}

function firstAddress(entries: readonly string[]): Address | undefined {
  for (const entry of entries) {
    const address = readAddress(entry)
    if (address !== undefined) return address
  }
  return undefined
}

function walk(
  entries: readonly string[],
  proxies: Proxies,
  peer: ProxyHop | undefined,
  skipsOthers: boolean,
): Address | undefined {
  let last = peer
  let own = peer?.ownEntries ?? 0
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i]!
    // RFC 9110 section 5.6.1: a list may have empty elements.
    if (entry === '' || bareText(entry) === '') continue
    if (own > 0) {
      own--
      continue
    }
    const address = readAddress(entry)
    if (address === undefined) {
      if (skipsOthers) continue
      return undefined
    }
    const proxy = proxies.find(address)
    if (proxy === undefined || (proxy === last && proxy.hasClients)) return address
    last = proxy
    own = proxy.ownEntries ?? 0
  }
  return undefined
}

/** The entries of a list with commas between, from left to right. Only the right end of a long list is read. */
function entriesOf(list: string): readonly string[] {
  if (!list.includes(',')) return [list]
  if (list.length > LIST_MAX_CHARS) {
    // The first entry of the rest may be a part of one.
    return list.slice(-LIST_MAX_CHARS).split(',').slice(1)
  }
  return (isQuoted(list) ? list.slice(1, -1) : list).split(',')
}

function isQuoted(text: string): boolean {
  return text.length > 1 && text.startsWith('"') && text.indexOf('"', 1) === text.length - 1
}

/** Without blanks and one pair of quotes around it. Logs of IIS write `+` for a blank. */
function bareText(text: string): string {
  const inner = trimmed(text)
  return isQuoted(inner) ? trimmed(inner.slice(1, -1)) : inner
}

function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 32 || code === 43 || (code >= 9 && code <= 13)
}

/** A pair of an element of `Forwarded`, or nothing, and what ends it. */
const PAIR = /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*))[ \t]*)?([;,]|$)/y

/**
 * The `for` of each element of `Forwarded`, from left to right; `unknown` for an element without one. Text in quotes is one value,
 * whatever is in it. Several headers are joined by commas.
 * @returns undefined when the value breaks the grammar. Then no part of it counts: a quote that a visitor opens would turn what a
 * proxy adds into text, and text into elements.
 */
export function forwardedFor(header: string): readonly string[] | undefined {
  if (header.length > FORWARDED_MAX_CHARS) return undefined
  const nodes: string[] = []
  let node: string | undefined
  let pairs = 0
  PAIR.lastIndex = 0
  for (;;) {
    const match = PAIR.exec(header)
    if (match === null) return undefined
    const [, name, quoted, token = '', end] = match
    if (name !== undefined) pairs++
    if (name?.toLowerCase() === 'for') {
      // A parameter occurs once in an element.
      if (node !== undefined) return undefined
      node = quoted?.replace(/\\(.)/g, '$1') ?? token
    }
    if (end === ';') continue
    if (pairs > 0) nodes.push(node || 'unknown')
    if (end === '') return nodes
    node = undefined
    pairs = 0
  }
}

const PRIVATE: ProxyHop = {}

/** The trusted proxies, and the addresses that only machines inside a network have. */
function withPrivate(trusted: Proxies): Proxies {
  return {
    find: (address) => trusted.find(address) ?? (PRIVATE_NETWORKS.has(address) ? PRIVATE : undefined),
  }
}

/**
 * Networks that no visitor of a website has: private, shared, local and reserved ones. Those for documentation are not among them, because
 * examples write visitors with them.
 */
const PRIVATE_NETWORKS = new NetworkSet()
for (const network of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/3', '::/127', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
]) {
  PRIVATE_NETWORKS.add(network)
}
