import { readAddressBeforePort } from '../../event/client-address.ts'
import { parseTimestamp } from '../../event/timestamp.ts'
import { accessEvent } from './access-line.ts'
import { requestOf } from './clf.ts'
import { type LineFormat, most } from './line-format.ts'

/** Type, time, load balancer, client, target, three durations, two statuses, bytes received and sent, request, user agent. */
const LINE =
  /^(?:https?|h2|grpcs|wss?) (\S+) \S+ (\S+) \S+ \S+ \S+ \S+ (\d{3}|-) \S+ \S+ (\d+|-) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"/

/**
 * Access logs of AWS' Application Load Balancer. Its trace id does not identify the request: it passes through several services, and a client
 * can choose it.
 */
export const alb: LineFormat = {
  name: 'alb',
  about: 'AWS Application Load Balancer',
  recognises: (lines) => most(lines, (line) => LINE.test(line)),
  reader: ({ all }) => ({
    header: undefined,
    read(line) {
      const match = LINE.exec(line)
      if (match === null) return { rejected: 'is not a line of an Application Load Balancer' }
      const [, time, client, status, bytes, request, userAgent] = match as unknown as string[]
      if (Number.isNaN(parseTimestamp(time!))) return { rejected: 'has an unreadable time' }
      const { method, path } = requestOf(request!)
      return accessEvent(
        {
          ip: readAddressBeforePort(client!)?.text ?? client,
          timestamp: time!,
          method,
          status: status === '-' ? 0 : Number(status),
          bytes: bytes === '-' ? undefined : Number(bytes),
          url: path && withoutDefaultPort(path),
          userAgent,
        },
        all,
      )
    },
  }),
}

function withoutDefaultPort(url: string): string {
  return url.replace(/^(https:\/\/[^/]*):443(?=\/)|^(http:\/\/[^/]*):80(?=\/)/, '$1$2')
}
