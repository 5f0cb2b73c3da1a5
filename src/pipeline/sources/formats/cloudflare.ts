import { readTime } from '../batch/files/timestamps.ts'
import { labelOf, textOf, unlessEmpty, without } from '../tools/tool-event.ts'
import { accessEvent, labelIn, urlOf } from './access-line.ts'
import { jsonReader, mostObjects } from './json-lines.ts'
import type { LineFormat } from './line-format.ts'

/** Fields with a place of their own, and those that repeat addresses or carry credentials. */
const PLACED = [
  ...['ClientIP', 'RayID', 'EdgeStartTimestamp', 'EdgeResponseStatus', 'EdgeResponseBytes', 'EdgeResponseContentType'],
  ...['ClientRequestMethod', 'ClientRequestScheme', 'ClientRequestHost', 'ClientRequestURI', 'ClientRequestPath'],
  ...['ClientRequestReferer', 'ClientRequestUserAgent', 'ClientSrcPort', 'Cookies', 'RequestHeaders'],
]

/** Cloudflare Logpush, data set `http_requests`, as NDJSON. Which fields it has is the user's choice. */
export const cloudflare: LineFormat = {
  name: 'cloudflare',
  about: 'Cloudflare Logpush, http_requests',
  recognises: (lines) => mostObjects(lines, (record) => 'ClientIP' in record && 'EdgeStartTimestamp' in record),
  reader: ({ all }) =>
    jsonReader((record) => {
      const time = readTime(labelOf(record.EdgeStartTimestamp) ?? '', undefined)
      if ('problem' in time) return { rejected: 'EdgeStartTimestamp is missing, or is no time' }
      const others = unlessEmpty(without(record, ...PLACED))
      return accessEvent(
        {
          ip: textOf(record.ClientIP),
          timestamp: time.time,
          method: textOf(record.ClientRequestMethod) ?? '',
          status: Number(record.EdgeResponseStatus ?? 0),
          bytes: record.EdgeResponseBytes === undefined ? undefined : Number(record.EdgeResponseBytes),
          url: urlOf(
            textOf(record.ClientRequestScheme),
            textOf(record.ClientRequestHost),
            textOf(record.ClientRequestURI) ?? textOf(record.ClientRequestPath) ?? '',
          ),
          referrer: textOf(record.ClientRequestReferer),
          userAgent: labelIn(record, 'ClientRequestUserAgent'),
          contentType: textOf(record.EdgeResponseContentType),
          requestId: textOf(record.RayID),
          others: others && { cloudflare: others },
        },
        all,
      )
    }),
}
