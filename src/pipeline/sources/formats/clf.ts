import { parseAddress } from '../../event/address.ts'
import { parseTimestamp } from '../../event/timestamp.ts'
import { type AccessLine, accessEvent, given, urlOf, visitorAddress } from './access-line.ts'
import { type LineFormat, type LineReader, most } from './line-format.ts'

const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"'

/** `HOST IDENT USER [TIME] "REQUEST" STATUS BYTES`, and perhaps `"REFERRER" "USER AGENT"` and more. */
const LINE =
  /^([^[\]"]+) \[([^\]]{26})\] "((?:[^"\\]|\\.)*)" (\d{3}|-) (\d+|-)(?: "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"(.*))?/
const TRAEFIK_TAIL = new RegExp(`^ \\d+ ${QUOTED} ${QUOTED} \\d+ms$`)
const QUOTED_TAIL = new RegExp(`^ ${QUOTED}$`)

/**
 * Reads the Common Log Format, with or without referrer and user agent. Before it, Apache's `vhost_combined` names the host; after it,
 * the default of nginx's packages names `X-Forwarded-For`.
 */
export function clfReader(all: boolean): LineReader {
  return new ClfReader(all)
}

class ClfReader implements LineReader {
  readonly header = undefined
  readonly #all: boolean

  constructor(all: boolean) {
    this.#all = all
  }

  read(line: string): ReturnType<LineReader['read']> {
    const match = LINE.exec(line)
    if (match === null) return { rejected: 'is not a line of the Common Log Format' }
    const [, head, time, request, status, bytes, referrer, userAgent, tail] = match as unknown as string[]
    const timestamp = clfTime(time!)
    if (timestamp === undefined) return { rejected: 'has an unreadable time' }
    const { host, ip } = addressesOf(head!, tail)
    const { method, path } = requestOf(unescaped(request!))
    const access: AccessLine = {
      ip,
      timestamp,
      method,
      status: Number(given(status) ?? 0),
      bytes: bytes === '-' ? undefined : Number(bytes),
      url: path === undefined ? undefined : urlOf(undefined, host, path),
      referrer: referrer === undefined ? undefined : unescaped(referrer),
      userAgent: userAgent === undefined ? undefined : unescaped(userAgent),
    }
    return accessEvent(access, this.#all)
  }
}

/** @param head `ADDRESS IDENT USER`; Apache may write a host before it, and Traefik a list of addresses @param tail after the user agent */
function addressesOf(head: string, tail: string | undefined): { readonly host?: string; readonly ip: string } {
  const space = head.indexOf(' ')
  const first = space < 0 ? head : head.slice(0, space)
  if (first.endsWith(',')) {
    // Traefik writes `X-Forwarded-For` in place of the address.
    const list = head.split(' ').slice(0, -2).join(' ')
    return { ip: visitorAddress(undefined, list) ?? list }
  }
  const second = space < 0 ? '' : head.slice(space + 1, nextSpace(head, space + 1))
  const isHost = second !== '-' && parseAddress(first) === undefined && parseAddress(second) !== undefined
  const peer = isHost ? second : first
  const forwardedFor = tail === undefined || tail === '' ? undefined : QUOTED_TAIL.exec(tail)?.[1]
  return { ...(isHost && { host: first }), ip: visitorAddress(peer, forwardedFor) ?? peer }
}

function nextSpace(text: string, from: number): number {
  const at = text.indexOf(' ', from)
  return at < 0 ? text.length : at
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
function clfTime(text: string): string | undefined {
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

/** The text after the user agent; undefined when the line has none, or another format. */
function tailOf(line: string): string | undefined {
  const match = LINE.exec(line)
  return match?.[7] === undefined ? undefined : (match[8] ?? '')
}

/** Traefik adds a counter, its router, the server and the duration. */
export function isTraefikLine(line: string): boolean {
  return TRAEFIK_TAIL.test(tailOf(line) ?? '')
}

export const combined: LineFormat = {
  name: 'combined',
  about: 'Apache and nginx, with referrer and user agent',
  recognises: (lines) => most(lines, (line) => tailOf(line) !== undefined && !isTraefikLine(line)),
  reader: ({ all }) => clfReader(all),
}

export const common: LineFormat = {
  name: 'common',
  about: 'Apache and nginx, without referrer',
  recognises: (lines) => most(lines, (line) => LINE.test(line) && tailOf(line) === undefined),
  reader: ({ all }) => clfReader(all),
}
