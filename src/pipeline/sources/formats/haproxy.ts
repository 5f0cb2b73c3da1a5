import { hasAddress, type Proxies, visitorIfAgreed } from '../../event/client-address.ts'
import { readTime } from '../batch/files/timestamps.ts'
import { accessEvent, given, urlOf } from './access-line.ts'
import { clfReader, isHaproxyLine, requestOf, withoutHashes } from './clf.ts'
import { type LineFormat, type LineResult, most } from './line-format.ts'

/**
 * Client, time, frontend, backend and server, five times, status, bytes, two cookies, how it ended, five counts of connections, two of
 * queues, captured headers, request. After it, `option httpslog` has errors and the name and version of TLS.
 */
const LINE =
  /^([\da-f:.]{2,45}|unix):\d{1,5} \[([^\]]{20,24})\] (\S+) \S+ [-+\d/]+ (-1|\d{3}) \+?(\d+) \S+ \S+ \S{4} [\d+/]+ [\d/]+ (?:\{([^}]*)\} (?:\{[^}]*\} )?)?"([^"]*)($|"(?: \S+ ([\w.-]+)\/\S+\/\S+)?)/
/** Connections without a request, and TCP, begin in the same way. */
const CONNECTION = /^(?:[\da-f:.]{2,45}|unix):\d{1,5} \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d\.\d{3}\] /
const NO_REQUEST: LineResult = { skipped: 'no HTTP request' }

/**
 * `option httplog` and `httpslog` of HAProxy, also in its form of the Common Log Format. Their time is local and has no zone: it is read
 * as UTC. Names of captured headers are not in the log, so their values tell what they are.
 */
export const haproxy: LineFormat = {
  name: 'haproxy',
  about: 'HAProxy, option httplog, httpslog or httplog clf',
  recognises: (lines) => most(lines, (line) => LINE.test(line) || isHaproxyLine(line)),
  reader({ all, trusted }) {
    const clf = clfReader(all, trusted)
    return {
      header: undefined,
      read(line) {
        const match = LINE.exec(line)
        if (match !== null) return resultOf(match, all, trusted)
        if (CONNECTION.test(line)) return NO_REQUEST
        return isHaproxyLine(line) ? clf.read(line) : { rejected: "is not a line of HAProxy's option httplog" }
      },
    }
  },
}

function resultOf(match: RegExpExecArray, all: boolean, trusted: Proxies | undefined): LineResult {
  const [, peer, time, frontend, status, bytes, captured, request, end, sni] = match as unknown as string[]
  const read = readTime(time!, undefined)
  if ('problem' in read) return { rejected: 'has an unreadable time' }
  // HAProxy cuts lines, by default after 1,024 bytes.
  const { method, path } = requestOf(withoutHashes(end === '' ? `${request} HTTP` : request!))
  const headers = headersIn(captured)
  // A frontend that ends TLS has this mark.
  const isTls = frontend!.endsWith('~')
  return accessEvent(
    {
      ip: visitorIfAgreed(peer === 'unix' ? undefined : peer, headers.forwarded, trusted),
      timestamp: read.time,
      method,
      status: Math.max(Number(status), 0),
      bytes: Number(bytes),
      url: path === undefined ? undefined : urlOf(isTls ? 'https' : 'http', headers.host ?? given(sni), path),
      referrer: headers.referrer,
      userAgent: headers.userAgent,
    },
    all,
  )
}

interface Headers {
  /** Captured values that are addresses, or lists of them. */
  readonly forwarded: readonly string[]
  readonly host?: string
  readonly referrer?: string
  readonly userAgent?: string
}

const HOST = /^(?:[\w-]{1,63}\.)+[a-z][\w-]{1,62}(?::\d{1,5})?$/i
const URL_START = /^https?:\/\//
const AGENT = /^[\w.-]{2,64}\/\d/

/** @param captured values with `|` between, in the order of the configuration */
function headersIn(captured = ''): Headers {
  const forwarded: string[] = []
  const found: { -readonly [K in keyof Headers]: Headers[K] } = { forwarded }
  for (const part of captured === '' ? [] : captured.split('|')) {
    const value = withoutHashes(part)
    if (hasAddress(value)) forwarded.push(value)
    else if (URL_START.test(value)) found.referrer ??= value
    else if (HOST.test(value)) found.host ??= value
    else if (AGENT.test(value)) found.userAgent ??= value
  }
  return found
}
