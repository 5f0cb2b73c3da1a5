import { visitorOfRequest } from '../../event/client-address.ts'
import { readTime } from '../batch/files/timestamps.ts'
import { type JsonObject, labelOf, listOf, objectOf, textOf, unlessEmpty, without } from '../tools/tool-event.ts'
import { accessEvent, urlOf } from './access-line.ts'
import { jsonReader, mostObjects } from './json-lines.ts'
import type { LineFormat } from './line-format.ts'

const PLACED = ['level', 'ts', 'logger', 'msg', 'request', 'resp_headers', 'size', 'status', 'common_log', 'user_id']

/** Access logs of Caddy 2. Headers of the request, which may be credentials, do not become properties. */
export const caddy: LineFormat = {
  name: 'caddy',
  about: 'Caddy 2, JSON',
  recognises: (lines) =>
    mostObjects(lines, ({ request }) => typeof objectOf(request).uri === 'string' && 'method' in objectOf(request)),
  reader: ({ all, trusted }) =>
    jsonReader((record) => {
      const request = objectOf(record.request)
      const time = readTime(labelOf(record.ts) ?? '', undefined)
      if ('problem' in time) return { rejected: 'ts is missing, or is no time' }
      const others = unlessEmpty(without(record, ...PLACED))
      return accessEvent(
        {
          ip: visitorOfRequest(peerOf(request), valuesOf(request.headers, 'x-forwarded-for').join(','), trusted),
          timestamp: time.time,
          method: textOf(request.method) ?? '',
          status: Number(record.status ?? 0),
          bytes: record.size === undefined ? undefined : Number(record.size),
          url: urlOf(request.tls === undefined ? 'http' : 'https', textOf(request.host), textOf(request.uri) ?? ''),
          referrer: headerOf(request.headers, 'referer'),
          userAgent: headerOf(request.headers, 'user-agent') ?? (request.headers === undefined ? undefined : '-'),
          contentType: headerOf(record.resp_headers, 'content-type'),
          others: others && { caddy: others },
        },
        all,
      )
    }),
}

/** Before version 2.5, Caddy wrote address and port into one field. */
function peerOf(request: JsonObject): string | undefined {
  return textOf(request.client_ip) ?? textOf(request.remote_ip) ?? textOf(request.remote_addr)
}

function headerOf(headers: unknown, name: string): string | undefined {
  return valuesOf(headers, name)[0]
}

/** The values of a header, one for each time that it was sent. Names of HTTP/2 headers are in lower case. */
function valuesOf(headers: unknown, name: string): readonly string[] {
  const found = Object.entries(objectOf(headers)).find(([key]) => key.toLowerCase() === name)
  return listOf(found?.[1]).flatMap((value) => textOf(value) ?? [])
}
