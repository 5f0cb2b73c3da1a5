import { accessEvent, given, NO_PAGE_VIEW, urlOf } from './access-line.ts'
import { clfTime, requestOf } from './clf.ts'
import { type LineFormat, most } from './line-format.ts'

/**
 * Owner, bucket, time, address, requester, request id, operation, key, request, status, error, bytes sent, size, two times, referrer,
 * user agent, version, host id, signature, cipher, authentication, host. Later fields may be added.
 */
const LINE =
  /^[\da-f]{32,64} \S+ \[([^\]]{26})\] (\S+) \S+ (\S+) ([A-Z\d]+\.[\w.]+) \S+ (?:"([^"]*)"|-) (\d{3}|-) \S+ (\d+|-) (?:\d+|-) (?:\d+|-) (?:\d+|-) (?:"([^"]*)"|-) (?:"([^"]*)"|-) \S+(?: \S+ \S+ (\S+) \S+ (\S+))?/
const START = /^[\da-f]{32,64} \S+ \[[^\]]{26}\] /
const OBJECT = /\.GET\.OBJECT$/

/** Access logs of Amazon S3. Requests that are not for an object of the bucket are no page views. */
export const s3Access: LineFormat = {
  name: 's3-access',
  about: 'Amazon S3, server access logs',
  recognises: (lines) => most(lines, (line) => LINE.test(line)),
  reader: ({ all }) => ({
    header: undefined,
    read(line) {
      const match = LINE.exec(line)
      if (match === null) {
        return {
          rejected: START.test(line) ? 'has quotes in a header, which S3 does not escape' : 'is not a line of S3',
        }
      }
      const [, time, address, requestId, operation, request, status, bytes, referrer, userAgent, cipher, host] =
        match as unknown as (string | undefined)[]
      const timestamp = clfTime(time!)
      if (timestamp === undefined) return { rejected: 'has an unreadable time' }
      if (!all && !OBJECT.test(operation!)) return NO_PAGE_VIEW
      const { method, path } = requestOf(request ?? '')
      const scheme = given(cipher) === undefined ? 'http' : 'https'
      return accessEvent(
        {
          ip: given(address),
          timestamp,
          method,
          status: Number(given(status) ?? 0),
          bytes: given(bytes) === undefined ? undefined : Number(bytes),
          url: path && urlOf(scheme, host, path),
          referrer,
          userAgent: userAgent ?? '-',
          requestId,
          others: { operation },
        },
        all,
      )
    },
  }),
}
