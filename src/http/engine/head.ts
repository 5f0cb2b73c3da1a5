import { makeRequestId } from './request-id.ts'

/** What is read of a request's header section. A header that is repeated is joined by `, ` (RFC 9110 section 5.2). */
export interface RequestHead {
  /** `''` when there is none. */
  readonly apiKey: string
  /** The caller's, or else one that is made. */
  readonly requestId: string
  /** Lower case; `''` when there is none. */
  readonly contentEncoding: string
  readonly accept: string
  /** Bytes; undefined when none is announced. */
  readonly contentLength: number | undefined
  /** Whether a body follows. */
  readonly hasBody: boolean
  /** `''` when there is none. */
  readonly connection: string
  readonly host: string
  readonly origin: string
  readonly cookie: string
  readonly csrfToken: string
  readonly ifNoneMatch: string
  readonly acceptEncoding: string
  /** What a browser wants it for (Fetch Metadata); `''` when nobody says. */
  readonly fetchDest: string
  /** Whose page asks for it (Fetch Metadata); `''` when nobody says. */
  readonly fetchSite: string
  /** `prefetch` among others: it is asked for before anybody wants it; `''` when nobody says. */
  readonly purpose: string
  /** Why the body's length cannot be trusted; undefined when it can. */
  readonly badFraming: string | undefined
}

const PRINTABLE = /^[\x20-\x7e]{1,128}$/
/** uWebSockets.js reads no more digits. */
const CONTENT_LENGTH = /^\d{1,9}$/

interface Raw {
  apiKey: string
  requestId: string
  contentLength: string | undefined
  contentEncoding: string
  transferEncoding: string | undefined
  accept: string
  connection: string
  host: string
  origin: string
  cookie: string
  csrfToken: string
  ifNoneMatch: string
  acceptEncoding: string
  fetchDest: string
  fetchSite: string
  purpose: string
}

let raw: Raw

/** The lines of a header section, in their order; names in lower case. */
export interface HeaderLines {
  forEach(line: (name: string, value: string) => void): void
}

/** Reads a header section. */
export function readHead(lines: HeaderLines): RequestHead {
  raw = {
    apiKey: '',
    requestId: '',
    contentLength: undefined,
    contentEncoding: '',
    transferEncoding: undefined,
    accept: '',
    connection: '',
    host: '',
    origin: '',
    cookie: '',
    csrfToken: '',
    ifNoneMatch: '',
    acceptEncoding: '',
    fetchDest: '',
    fetchSite: '',
    purpose: '',
  }
  lines.forEach(collect)
  const { contentLength, transferEncoding } = raw
  const length = Number(contentLength ?? 0)
  return {
    apiKey: raw.apiKey,
    requestId: PRINTABLE.test(raw.requestId) ? raw.requestId : makeRequestId(),
    contentEncoding: raw.contentEncoding.toLowerCase(),
    accept: raw.accept,
    contentLength: contentLength === undefined || Number.isNaN(length) ? undefined : length,
    hasBody: transferEncoding !== undefined || length > 0,
    connection: raw.connection,
    host: raw.host,
    origin: raw.origin,
    cookie: raw.cookie,
    csrfToken: raw.csrfToken,
    ifNoneMatch: raw.ifNoneMatch,
    acceptEncoding: raw.acceptEncoding,
    fetchDest: raw.fetchDest,
    fetchSite: raw.fetchSite,
    purpose: raw.purpose,
    badFraming: badFraming(contentLength, transferEncoding),
  }
}

function collect(name: string, value: string): void {
  switch (name) {
    case 'x-api-key':
      raw.apiKey = raw.apiKey === '' ? value : `${raw.apiKey}, ${value}`
      break
    case 'x-request-id':
      raw.requestId = value
      break
    case 'content-length':
      raw.contentLength = raw.contentLength === undefined ? value : `${raw.contentLength}, ${value}`
      break
    case 'content-encoding':
      raw.contentEncoding = raw.contentEncoding === '' ? value : `${raw.contentEncoding}, ${value}`
      break
    case 'transfer-encoding':
      raw.transferEncoding = raw.transferEncoding === undefined ? value : `${raw.transferEncoding}, ${value}`
      break
    case 'accept':
      raw.accept = value
      break
    case 'connection':
      raw.connection = value
      break
    case 'host':
      raw.host = value
      break
    case 'origin':
      raw.origin = value
      break
    case 'cookie':
      // RFC 9113 section 8.2.3 lets them come in several lines.
      raw.cookie = raw.cookie === '' ? value : `${raw.cookie}; ${value}`
      break
    case 'x-csrf-token':
      raw.csrfToken = value
      break
    case 'if-none-match':
      raw.ifNoneMatch = value
      break
    case 'accept-encoding':
      raw.acceptEncoding = value
      break
    case 'sec-fetch-dest':
      raw.fetchDest = value
      break
    case 'sec-fetch-site':
      raw.fetchSite = value
      break
    case 'sec-purpose':
    case 'purpose':
      raw.purpose = raw.purpose === '' ? value : `${raw.purpose}, ${value}`
      break
  }
}

/** RFC 9112 section 6.3: what two readers may read as bodies of different lengths is refused. */
function badFraming(contentLength: string | undefined, transferEncoding: string | undefined): string | undefined {
  if (transferEncoding !== undefined) {
    if (contentLength !== undefined) return 'content-length and transfer-encoding exclude each other'
    if (transferEncoding.toLowerCase() !== 'chunked') return 'transfer-encoding must be chunked'
    return undefined
  }
  if (contentLength !== undefined && !CONTENT_LENGTH.test(contentLength)) {
    return 'content-length must be one number of at most 9 digits'
  }
  return undefined
}
