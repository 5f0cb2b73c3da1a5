import type { SetupBlock, SourcePreset } from '../../declaration/source.ts'
import { decoded, onceEncoded } from '../formats/w3c.ts'
import type { Paths } from '../mapped-fields.ts'
import { type JsonObject, labelOf, listOf, objectOf, textOf } from '../tools/tool-event.ts'

/** A known sender of logs: where its fields are, and what to paste to make it send here. */
export interface Preset extends SourcePreset {
  /** A source's own mapping goes before them. */
  readonly paths: Paths
  /** A further path of the address, where some of its records have a name: only an address counts. */
  readonly perhapsIp?: string
  readonly eventType?: string
  /** Keys that are not stored: credentials, and text without information about a visit. */
  readonly dropped?: readonly string[]
  /** Whether a log entry is an event. Other entries are left out and not counted. Default: all are. */
  isEvent?(entry: JsonObject): boolean
  /** Whether the request of an entry was let in. Others are no page views. Default: all were. */
  isServed?(entry: JsonObject): boolean
  /** The entry as its paths expect it, without the sender's own encoding. */
  decode?(entry: JsonObject): JsonObject
  /** @param url with the key in its path @param id of the source */
  setup(url: string, id: string): readonly SetupBlock[]
}

export const ABOUT_SECRET = 'The key in it is secret: ipid trusts everything that is sent with it.'

/** @param code with the server key */
export function secretBlock(title: string, code: string): SetupBlock {
  return { title, code, about: ABOUT_SECRET, key: 'server' }
}

const cloudflare: Preset = {
  name: 'cloudflare',
  about: 'Cloudflare Logpush, data set HTTP requests',
  paths: {
    ip: 'ClientIP',
    event_id: 'RayID',
    timestamp: 'EdgeStartTimestamp',
    url: [
      '{ClientRequestScheme}://{ClientRequestHost}{ClientRequestURI}',
      'https://{ClientRequestHost}{ClientRequestURI}',
      'https://{ClientRequestHost}{ClientRequestPath}',
      'ClientRequestURI',
    ],
    referrer: 'ClientRequestReferer',
    user_agent: 'ClientRequestUserAgent',
    status: 'EdgeResponseStatus',
    method: 'ClientRequestMethod',
    content_type: 'EdgeResponseContentType',
  },
  eventType: 'request',
  dropped: ['Cookies', 'RequestHeaders', 'ResponseHeaders'],
  setup: (url) => [
    secretBlock('Logpush > Create a job > HTTP destination', url),
    {
      title: 'Data set HTTP requests, with at least these fields',
      about:
        'Status, method and type of content say which requests are page views; the others are left out. To send pages only, filter: ' +
        'EdgeResponseContentType starts with text/html.',
      code: 'ClientIP RayID EdgeStartTimestamp ClientRequestScheme ClientRequestHost ClientRequestURI ClientRequestReferer ClientRequestUserAgent EdgeResponseStatus ClientRequestMethod EdgeResponseContentType',
    },
  ],
}

const FASTLY_FORMAT = String.raw`{"timestamp":"%{strftime(\{"%Y-%m-%dT%H:%M:%S%z"\}, time.start)}V",
 "ip":"%{req.http.Fastly-Client-IP}V","event_id":"%{req.xid}V",
 "url":"https://%{json.escape(req.http.host)}V%{json.escape(req.url)}V",
 "referrer":"%{json.escape(req.http.referer)}V","user_agent":"%{json.escape(req.http.User-Agent)}V",
 "method":"%{json.escape(req.method)}V","status":%{resp.status}V}`.replaceAll('\n', '')

const fastly: Preset = {
  name: 'fastly',
  about: 'Fastly HTTPS log streaming',
  // Fields of the log format that Fastly's documentation proposes; the one below has our own names.
  paths: {
    ip: 'client_ip',
    url: 'https://{host}{url}',
    user_agent: 'request_user_agent',
    referrer: 'request_referer',
    status: ['status', 'response_status'],
    method: ['method', 'request_method'],
  },
  eventType: 'request',
  setup: (url) => [
    {
      title: 'First, in the environment of ipid',
      about: "It answers Fastly's challenge for the domain.",
      isSample: true,
      code: 'FASTLY_SERVICES=YOUR_SERVICE_ID',
    },
    secretBlock('Logging > HTTPS > Create endpoint > URL', url),
    {
      title: 'Log format',
      about: 'With the JSON log entry format Newline delimited.',
      code: FASTLY_FORMAT,
    },
  ],
}

/** Builds and firewalls have no visitor, and a redirect is followed by the request that counts. */
const VERCEL_REQUESTS = new Set(['static', 'lambda', 'edge', 'external'])

const vercel: Preset = {
  name: 'vercel',
  about: 'Vercel Drains, data type logs',
  paths: {
    ip: 'proxy.clientIp',
    event_id: ['requestId', 'id'],
    timestamp: ['proxy.timestamp', 'timestamp'],
    url: ['{proxy.scheme}://{proxy.host}{proxy.path}', 'https://{proxy.host}{proxy.path}'],
    referrer: 'proxy.referer',
    user_agent: ['proxy.userAgent.0', 'proxy.userAgent'],
    // -1: the function gave no answer.
    status: ['proxy.statusCode', 'statusCode'],
    method: 'proxy.method',
  },
  eventType: 'request',
  dropped: ['message'],
  // A request has a log entry for each line that its function or middleware prints.
  sharesIds: true,
  isEvent: ({ source, proxy }) =>
    (source === undefined || VERCEL_REQUESTS.has(labelOf(source) ?? '')) &&
    textOf(objectOf(proxy).clientIp) !== undefined,
  setup: (url, id) => [
    {
      ...secretBlock('Team settings > Drains > Add drain > Logs > Custom endpoint > URL', url),
      about: `Encoding NDJSON or JSON; sources static, functions, edge, external. ${ABOUT_SECRET}`,
    },
    {
      title: 'Give ipid the code with which Vercel verifies that the endpoint is yours',
      isSample: true,
      code: `./ipid source set ${id} --verify CODE`,
    },
    {
      title: "Give ipid the drain's signature secret",
      isSample: true,
      code: `VERCEL_DRAIN_SECRET=SECRET ./ipid source set ${id} --secret`,
    },
  ],
}

/** What ends a request in AWS WAF before it reaches a page: the visitor gets an error, or a puzzle. */
const WAF_STOPS = new Set(['BLOCK', 'CAPTCHA', 'CHALLENGE'])

/** @param url a path of CloudFront or WAF */
function withQuery(url: string): string {
  const text = url.includes('{') ? url : `{${url}}`
  return `${text}?${url.includes('httpRequest') ? '{httpRequest.args}' : '{cs-uri-query}'}`
}

/** An entry of CloudFront, whose texts are percent-encoded. */
function cloudfrontEntry(entry: JsonObject): JsonObject {
  const texts = Object.entries(CLOUDFRONT_TEXTS).flatMap(([name, decode]): [string, string][] => {
    const text = textOf(entry[name])
    return text === undefined ? [] : [[name, decode(text)]]
  })
  return { ...entry, ...Object.fromEntries(texts) }
}

const CLOUDFRONT_TEXTS: Readonly<Record<string, (text: string) => string>> = {
  'cs-uri-stem': onceEncoded,
  'cs-uri-query': onceEncoded,
  'cs(Referer)': onceEncoded,
  'cs(User-Agent)': (text) => decoded(onceEncoded(text)),
}

/** An entry of WAF, with headers under CloudFront's names. The others may be credentials. */
function wafEntry(entry: JsonObject): JsonObject {
  const { headers, ...httpRequest } = objectOf(entry.httpRequest)
  if (headers === undefined) return entry
  const all = listOf(headers).map(objectOf)
  const header = (name: string) => all.find((one) => labelOf(one.name)?.toLowerCase() === name)?.value ?? '-'
  return { ...entry, httpRequest, 'cs(Referer)': header('referer'), 'cs(User-Agent)': header('user-agent') }
}

const firehose: Preset = {
  name: 'firehose',
  about: 'Amazon Data Firehose, such as CloudFront and WAF logs',
  paths: {
    ip: ['c-ip', 'httpRequest.clientIp'],
    event_id: ['x-edge-request-id', 'httpRequest.requestId'],
    timestamp: ['{date}T{time}Z', 'timestamp'],
    url: [
      '{cs-protocol}://{x-host-header}{cs-uri-stem}',
      'https://{httpRequest.host}{httpRequest.uri}',
      'cs-uri-stem',
      'httpRequest.uri',
    ].flatMap((url) => [withQuery(url), url]),
    referrer: 'cs(Referer)',
    user_agent: 'cs(User-Agent)',
    status: 'sc-status',
    method: ['cs-method', 'httpRequest.httpMethod'],
    content_type: 'sc-content-type',
  },
  eventType: 'request',
  dropped: ['cs(Cookie)'],
  isServed: ({ action }) => !WAF_STOPS.has(labelOf(action) ?? ''),
  decode: (entry) => ('httpRequest' in entry ? wafEntry(entry) : cloudfrontEntry(entry)),
  setup: (url) => [
    {
      ...secretBlock(
        'Amazon Data Firehose > Create Firehose stream > Destination HTTP endpoint > HTTP endpoint URL',
        url,
      ),
      about: `Content encoding GZIP. The key in the URL may be the access key instead: then the URL ends before it. ${ABOUT_SECRET}`,
    },
  ],
}

const vector: Preset = {
  name: 'vector',
  about: 'Vector, sink http',
  // As parse_nginx_log and parse_apache_log name them. The latter has the address in `host`, which is a machine's name elsewhere.
  perhapsIp: 'host',
  paths: {
    ...{ ip: 'client', url: 'path', referrer: ['referrer', 'referer'], user_agent: 'agent' },
    ...{ status: 'status', method: 'method', request: ['request', 'message'] },
  },
  setup: (url) => [
    {
      ...secretBlock(
        'vector.toml',
        `[sinks.ipid]
type = "http"
inputs = ["YOUR_SOURCE"]
uri = "${url}"
encoding.codec = "json"
framing.method = "newline_delimited"
compression = "gzip"
acknowledgements.enabled = true
batch.max_bytes = 1000000`,
      ),
      about: `YOUR_SOURCE is the name of the source or transform in it that has the logs. ${ABOUT_SECRET}`,
    },
  ],
}

const fluentBit: Preset = {
  name: 'fluent-bit',
  about: 'Fluent Bit, output http',
  // As its parser nginx names them. Its parser apache2 has the address in `host`.
  perhapsIp: 'host',
  paths: {
    ...{ ip: 'remote', timestamp: 'date', url: 'path', referrer: 'referer', user_agent: 'agent' },
    ...{ status: ['code', 'status'], method: 'method', request: 'request' },
  },
  setup(url) {
    const { protocol, hostname, port, pathname } = new URL(url)
    const isTls = protocol === 'https:'
    return [
      secretBlock(
        'fluent-bit.conf',
        `[OUTPUT]
    Name             http
    Match            *
    Host             ${hostname}
    Port             ${port === '' ? (isTls ? 443 : 80) : port}
    URI              ${pathname}
    Format           json_lines
    Json_date_key    date
    Json_date_format double
    Compress         gzip
    Tls              ${isTls ? 'On' : 'Off'}`,
      ),
    ]
  },
}

/** The only preset whose sender signs bodies with a secret of the source. */
export const SIGNING_PRESET = vercel.name

export const PRESETS: readonly Preset[] = [cloudflare, fastly, vercel, firehose, vector, fluentBit]

/** The preset of a source; undefined: it has none, or one of another version. */
export function presetNamed(name: string | undefined): Preset | undefined {
  return PRESETS.find((preset) => preset.name === name)
}
