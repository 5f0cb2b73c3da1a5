import { parseAddress } from '../../event/address.ts'
import { hasAddress, isProxyIn, type Proxies, saysNoAddress, visitorIfAgreed } from '../../event/client-address.ts'
import { parseTimestamp } from '../../event/timestamp.ts'
import { type AccessLine, accessEvent, given, urlOf } from './access-line.ts'
import { type LineFormat, type LineReader, type LineResult, most } from './line-format.ts'

const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"'

/** `ADDRESSES IDENT USER [TIME] "REQUEST" STATUS BYTES`, and perhaps `"REFERRER" "USER AGENT"` and more. */
const LINE =
  /^((?:[^[\]]|\[[\da-f:.]{2,45}\])+) \[([^\]]{26})\] "((?:[^"\\]|\\.)*)" (\d{3}|-) (\d+|-)(?: "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"(.*))?/
/** What HAProxy writes after two empty texts, which are no referrer and no user agent: port, milliseconds, names, times. */
const HAPROXY_TAIL = /^ \d{1,5} \d{3} "[^"]*" "[^"]*" "[^"]*" [-+\d]+ [-+\d]+ [-+\d]+ [-+\d]+ /
const NO_ADDRESS: LineResult = {
  rejected:
    "has no address where the visitor's should be: let the server log addresses (Apache: HostnameLookups Off), and headers in quotes",
}
const TRAEFIK_TAIL = new RegExp(`^ \\d+ ${QUOTED} ${QUOTED} \\d+ms$`)

/**
 * Reads the Common Log Format, with or without referrer and user agent. Before it, Apache's `vhost_combined` names the host, and other
 * formats `X-Forwarded-For`. After it, that header is anywhere: the default of nginx's packages has it right after the user agent.
 * @param trusted see `ReadLineOptions`
 */
export function clfReader(all: boolean, trusted?: Proxies): LineReader {
  return new ClfReader(all, trusted)
}

class ClfReader implements LineReader {
  readonly header = undefined
  readonly #all: boolean
  readonly #trusted: Proxies | undefined

  constructor(all: boolean, trusted: Proxies | undefined) {
    this.#all = all
    this.#trusted = trusted
  }

  read(line: string): ReturnType<LineReader['read']> {
    const match = LINE.exec(line)
    if (match === null) return { rejected: 'is not a line of the Common Log Format' }
    const [, head, time, request, status, bytes, referrer, userAgent, tail] = match as unknown as string[]
    const timestamp = clfTime(time!)
    if (timestamp === undefined) return { rejected: 'has an unreadable time' }
    const { host, ip } = addressesOf(head!, tail, this.#trusted)
    if (ip !== undefined && parseAddress(ip) === undefined) return NO_ADDRESS
    const isHaproxy = tail !== undefined && HAPROXY_TAIL.test(tail)
    const { method, path } = requestOf(isHaproxy ? withoutHashes(request!) : unescaped(request!))
    const access: AccessLine = {
      ip,
      timestamp,
      method,
      status: Number(given(status) ?? 0),
      bytes: bytes === '-' ? undefined : Number(bytes),
      url: path === undefined ? undefined : urlOf(undefined, host, path),
      referrer: referrer === undefined ? undefined : unescaped(referrer),
      userAgent: userAgent === undefined || isHaproxy ? undefined : unescaped(userAgent),
    }
    return accessEvent(access, this.#all)
  }
}

/** The first word, which may be in quotes or a list with blanks, and the second. */
const WORDS = /^("(?:[^"\\]|\\.)*"|[^\s",]*(?:,\s*[^\s",]+)*)(?:\s+(\S+))?/

/**
 * Two addresses are a value of `X-Forwarded-For` and the peer if only a proxy's peer can follow: in quotes, as a list, or before a private
 * or trusted address. Otherwise the second one may be what a visitor wrote, such as the host. A name, or an address with the port of a
 * server, is the virtual host.
 * @param head `PEER IDENT USER`, perhaps with a word before it
 * @param tail after the user agent
 */
function addressesOf(
  head: string,
  tail = '',
  trusted: Proxies | undefined,
): { readonly host?: string | undefined; readonly ip: string | undefined } {
  const [, first = '', second = ''] = WORDS.exec(head) ?? []
  if (!hasAddress(second)) {
    // lighttpd writes the host where others write the name of identd.
    const host = HOST.test(second) ? second : undefined
    return { host, ip: addressOrNone(visitorIfAgreed(first, forwardedIn(tail), trusted)) }
  }
  const isForwarded = saysNoAddress(first) || (hasAddress(first) && !SERVER_PORT.test(first))
  if (isForwarded && !/^"|,/.test(first) && !saysNoAddress(first) && !isProxyIn(second, trusted)) {
    return { ip: visitorIfAgreed(first, forwardedIn(tail), trusted) }
  }
  if (isForwarded) return { ip: visitorIfAgreed(second, hasAddress(first) ? [first] : forwardedIn(tail), trusted) }
  return { host: first.replaceAll('"', ''), ip: visitorIfAgreed(second, forwardedIn(tail), trusted) }
}

const HOST = /^(?:localhost|(?:[\w-]{1,63}\.)+[a-z][\w-]{1,62})(?::\d{1,5})?$/i

/** A peer that is not on the network, such as a Unix socket, has none. */
function addressOrNone(peer: string | undefined): string | undefined {
  return peer === undefined || peer.startsWith('unix:') || saysNoAddress(peer) ? undefined : peer
}

/** An address on which servers listen. Clients connect from higher ports. */
const SERVER_PORT = /^"?[\da-f.:[\]]+:(?:\d{1,3}|3000|5000|8000|8080|8443|9000)"?$/i
const TAIL_MAX_CHARS = 65_536
/**
 * A value with its name or without, in quotes or as a list with blanks. A quote that is not closed takes the rest of the tail, so that
 * text in quotes never counts as a value, and the time is linear.
 */
const VALUE = /(?:([\w-]{1,64})=)?(?:"((?:[^"\\]|\\.)*)("|\\?$)|([^\s",=]+(?:,\s*[^\s",=]+)*))/gs
const FORWARDED_NAME = /^(?:http_)?(?:x[-_]?)?(?:forwarded[-_]?for|fwd|ff|(?:real|(?:true[-_]?)?client)[-_]?ip)$/i

/**
 * The values of a tail that may be `X-Forwarded-For`: those without a name or with one for it. An upstream server is recognised by its
 * port. None of a tail that is too long or has an open quote: a visitor that cuts the header off could put another value in its place.
 */
function forwardedIn(tail: string): readonly string[] {
  const found: string[] = []
  if (tail.length > TAIL_MAX_CHARS) return found
  for (const [, name, quoted, end, word = ''] of tail.matchAll(VALUE)) {
    if (quoted !== undefined && end !== '"') return []
    const value = quoted ?? word
    if ((name === undefined || FORWARDED_NAME.test(name)) && !SERVER_PORT.test(value)) found.push(value)
  }
  return found
}

/** `GET /path HTTP/1.1`. A request that is not HTTP has no method. */
export function requestOf(request: string): { readonly method: string; readonly path: string | undefined } {
  const first = request.indexOf(' ')
  const last = request.lastIndexOf(' ')
  const method = request.slice(0, Math.max(first, 0))
  if (first < 0 || last === first || !/^[A-Z]+$/.test(method)) return { method: '', path: undefined }
  return { method, path: request.slice(first + 1, last) }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Most lines have the time of the line before. */
let lastTime = { text: '', timestamp: undefined as string | undefined }

/** RFC 3339 of `26/Nov/2026:12:00:00 +0100`, with its zone; undefined for another text. */
export function clfTime(text: string): string | undefined {
  if (lastTime.text === text) return lastTime.timestamp
  const month = MONTHS.indexOf(text.slice(3, 6)) + 1
  const day = `${text.slice(7, 11)}-${String(month).padStart(2, '0')}-${text.slice(0, 2)}`
  const time = `${day}T${text.slice(12, 20)}${text.slice(21, 24)}:${text.slice(24)}`
  lastTime = { text, timestamp: Number.isNaN(parseTimestamp(time)) ? undefined : time }
  return lastTime.timestamp
}

const ESCAPE = /\\(?:x([0-9A-Fa-f]{2})|(.))/g
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', v: '\v', f: '\f' }

/** nginx writes `\x22`, Apache `\"` and `\x0a`. The bytes are UTF-8. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  const bytes = Buffer.from(
    Buffer.from(text)
      .toString('latin1')
      .replace(ESCAPE, (_, hex?: string, char?: string) =>
        hex === undefined ? (CONTROLS[char!] ?? char!) : String.fromCharCode(Number.parseInt(hex, 16)),
      ),
    'latin1',
  )
  return bytes.toString('utf8')
}

const HASH_ESCAPE = /#([\dA-F]{2})/g

/** HAProxy writes quotes, braces, `|`, `#` and bytes that are not ASCII as `#` and two digits. The bytes are UTF-8. */
export function withoutHashes(text: string): string {
  if (!text.includes('#')) return text
  const bytes = Buffer.from(text).toString('latin1')
  const whole = bytes.replace(HASH_ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(whole, 'latin1').toString('utf8')
}

/** A peer by its name, ident and user. */
const NAMED_PEER = /^[\w-]+(?:\.[\w-]+)* \S+ \S+$/

/** A time is no virtual host. */
const TIME = /^\d{4}-\d\d-\d\dT/

/** A line that says who asked. What a collector puts before it does not. */
function matchOf(line: string): RegExpExecArray | undefined {
  const match = LINE.exec(line)
  if (match === null) return undefined
  const [, first = '', second = ''] = WORDS.exec(match[1]!) ?? []
  const isPeer = hasAddress(first) || (hasAddress(second) && !TIME.test(first)) || addressOrNone(first) === undefined
  return isPeer || NAMED_PEER.test(match[1]!) ? match : undefined
}

/** The text after the user agent; undefined when the line has none, or another format. */
function tailOf(line: string): string | undefined {
  const match = matchOf(line)
  return match?.[7] === undefined ? undefined : (match[8] ?? '')
}

/** `option httplog clf` of HAProxy. */
export function isHaproxyLine(line: string): boolean {
  return HAPROXY_TAIL.test(tailOf(line) ?? '')
}

/** Traefik adds a counter, its router, the server and the duration. */
export function isTraefikLine(line: string): boolean {
  return TRAEFIK_TAIL.test(tailOf(line) ?? '')
}

export const combined: LineFormat = {
  name: 'combined',
  about: 'Apache and nginx, with referrer and user agent',
  recognises: (lines) =>
    most(lines, (line) => tailOf(line) !== undefined && !isTraefikLine(line) && !isHaproxyLine(line)),
  reader: ({ all, trusted }) => clfReader(all, trusted),
}

export const common: LineFormat = {
  name: 'common',
  about: 'Apache and nginx, without referrer',
  recognises: (lines) => most(lines, (line) => matchOf(line) !== undefined && tailOf(line) === undefined),
  reader: ({ all, trusted }) => clfReader(all, trusted),
}
