import { visitorOfRequest } from '../../event/client-address.ts'
import { parseTimestamp } from '../../event/timestamp.ts'
import { accessEvent, given, urlOf } from './access-line.ts'
import { type LineFormat, type LineResult, most } from './line-format.ts'

/** Time, request, status, flags; Istio adds details; bytes received and sent, duration, time of the upstream. */
const START =
  /^\[([\dT:.-]{19,29}Z)\] "([A-Z-]+) (\S*) (?:HTTP\/[\d.]+|-)" (\d{1,3}) \S+ (?:\S+ \S+ "[^"]*" )?\d+ (\d+) \d+ (?:\d+|-) "/
/** Between `" "`: X-Forwarded-For, user agent, request id, authority, upstream, and the rest of the line. */
const SEPARATOR = '" "'
const VALUES = 5
/** Istio: cluster, two addresses of its own, the peer, and names. */
const PEER = /^" \S+ \S+ \S+ (\S+) /

const AMBIGUOUS: LineResult = { rejected: 'has quotes in a header, which Envoy does not escape' }

/** The default text format of Envoy, and that of Istio. The peer is only in Istio's. */
export const envoy: LineFormat = {
  name: 'envoy',
  about: 'Envoy and Istio, their default text',
  recognises: (lines) => most(lines, (line) => START.test(line)),
  reader: ({ all, trusted }) => ({
    header: undefined,
    read(line) {
      const match = START.exec(line)
      if (match === null) return { rejected: "is not a line of Envoy's default format" }
      const [start, time, method, path, status, bytes] = match as unknown as string[]
      if (Number.isNaN(parseTimestamp(time!))) return { rejected: 'has an unreadable time' }
      const values = line.slice(start!.length).split(SEPARATOR)
      // A visitor that writes the separator must not choose the address.
      if (values.length !== VALUES) return AMBIGUOUS
      const [forwarded, userAgent, , authority, last] = values as [string, string, string, string, string]
      const peer = PEER.exec(last.slice(last.indexOf('"')))?.[1]
      return accessEvent(
        {
          ip: visitorOfRequest(peer, forwarded, trusted),
          timestamp: time!,
          method: given(method) ?? '',
          status: Number(status),
          bytes: Number(bytes),
          url: given(path) && urlOf(undefined, authority, path!),
          userAgent,
        },
        all,
      )
    },
  }),
}
