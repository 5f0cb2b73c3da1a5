import { visitorOfRequest } from '../../event/client-address.ts'
import { readTime } from '../batch/files/timestamps.ts'
import { type JsonObject, labelOf, unlessEmpty, without } from '../tools/tool-event.ts'
import { accessEvent, given, urlOf } from './access-line.ts'
import { requestOf } from './clf.ts'
import { jsonReader, mostObjects } from './json-lines.ts'
import type { LineFormat } from './line-format.ts'

/*
 * JSON that an administrator has named the fields of: nginx's variables (`escape=json`), Envoy's operators, and the usual names for both.
 * A name counts in any case, and with or without `_`, `-`, `.` and `@`.
 */

/** Names of each field, the best first. */
const NAMES = {
  peer: 'remoteaddr downstreamremoteaddress downstreamdirectremoteaddress remoteip clientip clientaddr client remotehost remote',
  forwarded: 'httpxforwardedfor xforwardedfor forwardedfor xff httpxrealip xrealip realip',
  time: 'timeiso8601 starttime timestamp time timelocal datetime date msec ts',
  request: 'request requestline',
  method: 'requestmethod method httpmethod verb',
  target: 'requesturi uri url path requestpath requesturl',
  query: 'querystring args query',
  status: 'status responsecode statuscode httpstatus code response',
  bytes: 'bodybytessent bytessent bytes responsesize size bodysize',
  host: 'httphost authority vhost virtualhost domain host servername',
  scheme: 'httpxforwardedproto xforwardedproto scheme requestscheme',
  referrer: 'httpreferer httpreferrer referer referrer',
  agent: 'httpuseragent useragent agent ua',
  type: 'senthttpcontenttype responsecontenttype upstreamhttpcontenttype',
} as const
type Field = keyof typeof NAMES

const FIELDS = new Map<string, readonly [Field, number]>(
  Object.entries(NAMES).flatMap(([field, names]) =>
    names.split(' ').map((name, rank) => [name, [field as Field, rank]] as const),
  ),
)
const PUNCTUATION = /[_.@-]/g
/** Keys are those of a configuration, so the lines of a file have the same ones. */
const KNOWN_KEYS_MAX = 1_000
const knownKeys = new Map<string, readonly [Field, number] | undefined>()

function fieldOf(key: string): readonly [Field, number] | undefined {
  if (knownKeys.has(key)) return knownKeys.get(key)
  const field = FIELDS.get(key.replace(PUNCTUATION, '').toLowerCase())
  if (knownKeys.size < KNOWN_KEYS_MAX) knownKeys.set(key, field)
  return field
}

interface Access {
  /** `-` for a field without a value. */
  readonly fields: Readonly<Partial<Record<Field, string>>>
  readonly keys: readonly string[]
}

/** The fields of a record. A value counts before a better name without one. */
function accessIn(record: JsonObject): Access {
  const fields: Partial<Record<Field, string>> = {}
  const ranks: Partial<Record<Field, number>> = {}
  const keys: string[] = []
  for (const key of Object.keys(record)) {
    const found = fieldOf(key)
    if (found === undefined) continue
    keys.push(key)
    const [field, rank] = found
    const value = given(labelOf(record[key]))
    const isBetter = given(fields[field]) === undefined || rank < ranks[field]!
    if (!isBetter || (value === undefined && fields[field] !== undefined)) continue
    fields[field] = value ?? '-'
    ranks[field] = rank
  }
  return { fields, keys }
}

/** A host. The name of a server in nginx's configuration may be `_`, or a pattern. */
const HOST = /^[a-z\d][\w.-]*(?::\d{1,5})?$|^\[[\da-f:.]{2,45}\](?::\d{1,5})?$/i

/** JSON access logs of nginx, Envoy, Istio and others. */
export const jsonAccess: LineFormat = {
  name: 'json-access',
  about: 'nginx, Envoy, Istio and others, JSON with the usual names',
  recognises: (lines) =>
    mostObjects(lines, (record) => {
      const { peer, forwarded, request, target, status } = accessIn(record).fields
      return (peer ?? forwarded) !== undefined && (request ?? target) !== undefined && status !== undefined
    }),
  reader: ({ all, trusted }) =>
    jsonReader((record) => {
      const { fields, keys } = accessIn(record)
      const { peer, forwarded, query, status, bytes, host, scheme, referrer, agent, type } = fields
      const time = readTime(given(fields.time) ?? '', undefined)
      if ('problem' in time) return { rejected: 'has no field with its time, or one that is no time' }
      const line = requestOf(given(fields.request) ?? '')
      // A format without a method has the requests of all methods.
      const hasNoMethod = fields.method === undefined && fields.request === undefined
      const method = hasNoMethod ? 'GET' : (given(fields.method) ?? line.method)
      const path = line.path ?? given(fields.target) ?? (fields.request?.startsWith('/') ? fields.request : undefined)
      const withQuery = path === undefined || path.includes('?') || given(query) === undefined
      const others = unlessEmpty(without(record, ...keys))
      return accessEvent(
        {
          ip: given(visitorOfRequest(peer, forwarded, trusted)),
          timestamp: time.time,
          method,
          status: Number(given(status) ?? 0),
          bytes: given(bytes) === undefined ? undefined : Number(bytes),
          url:
            path &&
            urlOf(
              scheme,
              host !== undefined && HOST.test(host) ? host : undefined,
              withQuery ? path : `${path}?${query}`,
            ),
          referrer,
          userAgent: agent,
          contentType: type,
          // Envoy's id is the same in each service that the request passes, and a visitor can choose it.
          requestId: 'response_code' in record ? undefined : given(labelOf(record.request_id)),
          others: others && { log: others },
        },
        all,
      )
    }),
}
