import type { IncomingMessage } from 'node:http'
import { makeRequestId } from '../head.ts'
import { JSON_TYPE, STATUS_LINES } from '../response.ts'

/** The answer to input that no route can answer. */
export interface Refusal {
  readonly status: 400 | 408 | 431 | 505
  readonly detail: string
}

const OTHER_VERSION: Refusal = {
  status: 505,
  detail: 'this API speaks HTTP/1.1 and HTTP/1.0; configure a proxy in front of it (nginx: proxy_http_version 1.1)',
}
const NO_HOST: Refusal = { status: 400, detail: 'exactly one host header is required' }
const BAD_LENGTH: Refusal = { status: 400, detail: 'content-length must be one number of at most 9 digits' }
const BAD_CODING: Refusal = { status: 400, detail: 'transfer-encoding must be chunked, without a content-length' }
const BAD_CHUNK: Refusal = { status: 400, detail: 'the chunks of the body cannot be read' }
const LARGE_HEAD: Refusal = { status: 431, detail: 'the header section is too large' }
const SLOW_HEAD: Refusal = { status: 408, detail: 'the header section arrived too slowly' }
const CUT_SHORT: Refusal = { status: 400, detail: 'the request ends too early' }
const NOT_HTTP: Refusal = { status: 400, detail: 'this is not an HTTP/1.1 request' }

/** By the error codes of llhttp, the parser of Node.js. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: LARGE_HEAD,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: BAD_CHUNK,
  HPE_INVALID_CHUNK_SIZE: BAD_CHUNK,
  HPE_INVALID_CONTENT_LENGTH: BAD_LENGTH,
  HPE_UNEXPECTED_CONTENT_LENGTH: BAD_LENGTH,
  HPE_INVALID_TRANSFER_ENCODING: BAD_CODING,
  HPE_INVALID_VERSION: OTHER_VERSION,
  HPE_INVALID_EOF_STATE: CUT_SHORT,
  HPE_PAUSED_H2_UPGRADE: OTHER_VERSION,
  ERR_HTTP_REQUEST_TIMEOUT: SLOW_HEAD,
}

/** The answer when the parser fails; undefined when the client is gone and gets none. */
export function refusalOfError({ code = '' }: NodeJS.ErrnoException): Refusal | undefined {
  return REFUSALS[code] ?? (code.startsWith('HPE_') ? NOT_HTTP : undefined)
}

/** Refuses requests that the parser accepts and a route must not get (RFC 9112 sections 3.2 and 6.1). */
export function refusalOfRequest(request: IncomingMessage): Refusal | undefined {
  const { httpVersion, rawHeaders } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return OTHER_VERSION
  const isOld = httpVersion === '1.0'
  // Node.js makes `headers` when they are read.
  if (isOld && request.headers['transfer-encoding'] !== undefined) return BAD_CODING
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts === 1 || (isOld && hosts === 0) ? undefined : NO_HOST
}

/** The response as text, for a connection that ends with it. */
export function refusalText({ status, detail }: Refusal): string {
  const body = JSON.stringify({ detail, code: status === 408 ? 'slow_body' : 'malformed_request' })
  const head = [
    `HTTP/1.1 ${STATUS_LINES[status]}`,
    'connection: close',
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${makeRequestId()}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
