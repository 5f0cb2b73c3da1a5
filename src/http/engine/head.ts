import { randomBytes } from 'node:crypto'

/** Headers in which a proxy names the client. The first two hold a list. */
export const CLIENT_HEADERS = [
  ...(['x-forwarded-for', 'forwarded', 'x-real-ip', 'true-client-ip', 'fly-client-ip', 'fastly-client-ip'] as const),
  ...(['cloudfront-viewer-address', 'cf-connecting-ip'] as const),
] as const
export type ClientHeader = (typeof CLIENT_HEADERS)[number]

/** The parts of a request's header section that are read. Repeated headers are joined by `, ` (RFC 9110 section 5.2). */
export interface RequestHead {
  /** `''` when absent. */
  readonly apiKey: string
  /** The id that the caller sent, or else a new one. */
  readonly requestId: string
  /** Lower case; `''` when absent. */
  readonly contentEncoding: string
  /** As sent; `''` when absent. */
  readonly contentType: string
  readonly accept: string
  /** Bytes; undefined when not announced. */
  readonly contentLength: number | undefined
  /** Whether a body follows. */
  readonly hasBody: boolean
  /** Whether the body has a transfer coding instead of an announced length. */
  readonly isChunked: boolean
  /** `''` when absent. */
  readonly connection: string
  readonly host: string
  readonly origin: string
  /** The headers that a page wants to send (CORS `Access-Control-Request-Headers`); `''` when absent. */
  readonly corsHeaders: string
  readonly cookie: string
  readonly csrfToken: string
  /** The client addresses that proxies report, the nearest proxy's last; `''` when absent. */
  readonly forwardedFor: string
  /** `Forwarded` of RFC 7239; `''` when absent. */
  readonly forwarded: string
  /** The headers that name one client, as sent; undefined when there is none. */
  readonly clients: Partial<Record<ClientHeader, string>> | undefined
  /** Whether the visitor's address must not be stored (`SP-Anonymous` of Snowplow's libraries). */
  readonly isAnonymous: boolean
  readonly authorization: string
  /** `''` when absent. Amazon Data Firehose has a name of its own for it. */
  readonly sourceKey: string
  /** Amazon Data Firehose's name of a delivery, the same in every attempt; `''` when absent. */
  readonly firehoseRequestId: string
  /** `''` when absent. */
  readonly idempotencyKey: string
  /** Vercel's signature of the body; `''` when absent. */
  readonly vercelSignature: string
  readonly ifNoneMatch: string
  readonly userAgent: string
  readonly acceptEncoding: string
  /** The page that asks; `''` when absent. */
  readonly referer: string
  /** Whether the visitor refuses to be tracked: `Sec-GPC` (Global Privacy Control) or `DNT`. */
  readonly refusesTracking: boolean
  /** The purpose of a browser's request (Fetch Metadata `Sec-Fetch-Dest`); `''` when absent. */
  readonly fetchDest: string
  /** The relation of the requesting page to this site (Fetch Metadata `Sec-Fetch-Site`); `''` when absent. */
  readonly fetchSite: string
  /** For example `prefetch`: the browser requests it before the user does; `''` when absent. */
  readonly purpose: string
  /** Why the body's length cannot be trusted; undefined when it can. */
  readonly badFraming: string | undefined
}

const PRINTABLE = /^[\x20-\x7e]{1,128}$/
/** uWebSockets.js reads at most this many digits. */
const CONTENT_LENGTH = /^\d{1,9}$/

/** The head being read: lines arrive one by one and are not kept. */
let head: { -readonly [Name in keyof RequestHead]: RequestHead[Name] }
let contentLength: string | undefined
let transferEncoding: string | undefined

/** The lines of a header section, in their order; names in lower case. */
export interface HeaderLines {
  forEach(line: (name: string, value: string) => void): void
}

/** Reads a header section. */
export function readHead(lines: HeaderLines): RequestHead {
  contentLength = undefined
  transferEncoding = undefined
  head = {
    apiKey: '',
    requestId: '',
    contentEncoding: '',
    contentType: '',
    accept: '',
    contentLength: undefined,
    hasBody: false,
    isChunked: false,
    connection: '',
    host: '',
    origin: '',
    corsHeaders: '',
    cookie: '',
    csrfToken: '',
    forwardedFor: '',
    forwarded: '',
    clients: undefined,
    sourceKey: '',
    isAnonymous: false,
    firehoseRequestId: '',
    idempotencyKey: '',
    vercelSignature: '',
    authorization: '',
    ifNoneMatch: '',
    userAgent: '',
    acceptEncoding: '',
    referer: '',
    refusesTracking: false,
    fetchDest: '',
    fetchSite: '',
    purpose: '',
    badFraming: undefined,
  }
  lines.forEach(collect)
  const length = Number(contentLength ?? 0)
  if (head.requestId === '' || !PRINTABLE.test(head.requestId)) head.requestId = makeRequestId()
  if (head.contentEncoding !== '') head.contentEncoding = head.contentEncoding.toLowerCase()
  head.contentLength = contentLength === undefined || Number.isNaN(length) ? undefined : length
  head.isChunked = transferEncoding !== undefined
  head.hasBody = head.isChunked || length > 0
  head.badFraming = badFraming(contentLength, transferEncoding)
  return head
}

function collect(name: string, value: string): void {
  switch (name) {
    case 'x-api-key':
      head.apiKey = head.apiKey === '' ? value : `${head.apiKey}, ${value}`
      break
    case 'x-request-id':
      head.requestId = value
      break
    case 'content-length':
      contentLength = contentLength === undefined ? value : `${contentLength}, ${value}`
      break
    case 'content-encoding':
      head.contentEncoding = head.contentEncoding === '' ? value : `${head.contentEncoding}, ${value}`
      break
    case 'content-type':
      head.contentType = value
      break
    case 'transfer-encoding':
      transferEncoding = transferEncoding === undefined ? value : `${transferEncoding}, ${value}`
      break
    case 'accept':
      head.accept = value
      break
    case 'connection':
      head.connection = value
      break
    case 'host':
      head.host = value
      break
    case 'origin':
      head.origin = value
      break
    case 'access-control-request-headers':
      head.corsHeaders = value
      break
    case 'cookie':
      // RFC 9113 section 8.2.3 allows several lines.
      head.cookie = head.cookie === '' ? value : `${head.cookie}; ${value}`
      break
    case 'x-csrf-token':
      head.csrfToken = value
      break
    case 'x-forwarded-for':
      head.forwardedFor = head.forwardedFor === '' ? value : `${head.forwardedFor}, ${value}`
      break
    case 'forwarded':
      head.forwarded = head.forwarded === '' ? value : `${head.forwarded}, ${value}`
      break
    case 'x-source-key':
    case 'x-amz-firehose-access-key':
      head.sourceKey = value
      break
    case 'sp-anonymous':
      head.isAnonymous = true
      break
    case 'x-amz-firehose-request-id':
      head.firehoseRequestId = value
      break
    case 'idempotency-key':
      head.idempotencyKey = head.idempotencyKey === '' ? value : `${head.idempotencyKey}, ${value}`
      break
    case 'x-vercel-signature':
      head.vercelSignature = value
      break
    case 'authorization':
      head.authorization = value
      break
    case 'if-none-match':
      head.ifNoneMatch = value
      break
    case 'user-agent':
      head.userAgent = value
      break
    case 'accept-encoding':
      head.acceptEncoding = value
      break
    case 'referer':
      head.referer = value
      break
    case 'dnt':
    case 'sec-gpc':
      if (value === '1') head.refusesTracking = true
      break
    case 'sec-fetch-dest':
      head.fetchDest = value
      break
    case 'sec-fetch-site':
      head.fetchSite = value
      break
    case 'sec-purpose':
    case 'purpose':
      head.purpose = head.purpose === '' ? value : `${head.purpose}, ${value}`
      break
    case 'x-real-ip':
    case 'true-client-ip':
    case 'fly-client-ip':
    case 'fastly-client-ip':
    case 'cloudfront-viewer-address':
    case 'cf-connecting-ip': {
      head.clients ??= {}
      const before = head.clients[name]
      // The visitor may have sent one of two: together they are no address.
      head.clients[name] = before === undefined ? value : `${before}, ${value}`
      break
    }
  }
}

/** RFC 9112 section 6.3: refuse a body whose length two readers may understand differently. */
function badFraming(length: string | undefined, encoding: string | undefined): string | undefined {
  if (encoding !== undefined) {
    if (length !== undefined) return 'content-length and transfer-encoding exclude each other'
    if (encoding.toLowerCase() !== 'chunked') return 'transfer-encoding must be chunked'
    return undefined
  }
  if (length !== undefined && !CONTENT_LENGTH.test(length)) {
    return 'content-length must be one number of at most 9 digits'
  }
  return undefined
}

/** Crockford's base 32, lower case: its digits sort, and are not easily confused. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_DIGITS = 9
const NUMBER_DIGITS = 4
const NUMBERS = 32 ** NUMBER_DIGITS
/** All pairs of digits, in order. */
const PAIRS = Array.from({ length: 1_024 }, (_, i) => DIGITS[i >> 5]! + DIGITS[i & 31])

let maker: string | undefined
let next = 0
/** The last time that was converted to digits. */
let time = { ms: Number.NaN, digits: '' }

/**
 * Makes an id for a request that has none: 18 characters from milliseconds, a counter and the process. Ids sort by time and
 * take few bytes when stored.
 */
export function makeRequestId(nowMs: number = Date.now()): string {
  maker ??= Array.from(randomBytes(5), (byte) => DIGITS[byte % 32]).join('')
  next = (next + 1) % NUMBERS
  if (time.ms !== nowMs) time = { ms: nowMs, digits: inDigits(nowMs, TIME_DIGITS) }
  return `${time.digits}${PAIRS[next >> 10]}${PAIRS[next & 1_023]}${maker}`
}

function inDigits(value: number, count: number): string {
  let text = ''
  let rest = Math.floor(value)
  for (let i = 0; i < count; i++) {
    text = DIGITS[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}
