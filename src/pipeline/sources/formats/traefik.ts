import { visitorOfRequest } from '../../event/client-address.ts'
import { readTime } from '../batch/files/timestamps.ts'
import { labelOf, textOf, without } from '../tools/tool-event.ts'
import { accessEvent, labelIn, urlOf } from './access-line.ts'
import { clfReader, isTraefikLine } from './clf.ts'
import { jsonReader, mostObjects } from './json-lines.ts'
import { type LineFormat, most } from './line-format.ts'

/**
 * Access logs of Traefik, in its form of the Common Log Format or as JSON. In place of the address it writes what `X-Forwarded-For`
 * says, if its entry point trusts the sender.
 */
export const traefik: LineFormat = {
  name: 'traefik',
  about: 'Traefik, JSON or its Common Log Format',
  recognises: (lines) =>
    most(lines, isTraefikLine) ||
    mostObjects(lines, (record) => 'ClientHost' in record && ('StartUTC' in record || 'RequestPath' in record)),
  reader({ all, trusted }) {
    const json = jsonReader((record) => {
      const time = readTime(labelOf(record.StartUTC ?? record.time) ?? '', undefined)
      if ('problem' in time) return { rejected: 'StartUTC is missing, or is no time' }
      return accessEvent(
        {
          ip: visitorOfRequest(textOf(record.ClientHost), textOf(record['request_X-Forwarded-For']), trusted),
          timestamp: time.time,
          method: textOf(record.RequestMethod) ?? '',
          status: Number(record.DownstreamStatus ?? 0),
          bytes: record.DownstreamContentSize === undefined ? undefined : Number(record.DownstreamContentSize),
          url: urlOf(textOf(record.RequestScheme), textOf(record.RequestHost), textOf(record.RequestPath) ?? ''),
          referrer: textOf(record.request_Referer),
          userAgent: labelIn(record, 'request_User-Agent'),
          contentType: textOf(record['downstream_Content-Type']),
          others: without({ router: record.RouterName, service: record.ServiceName, duration_ns: record.Duration }),
        },
        all,
      )
    })
    const lines = clfReader(all, trusted)
    return { header: undefined, read: (line) => (line.startsWith('{') ? json : lines).read(line) }
  },
}
