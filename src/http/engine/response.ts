import type { Limit } from './http-error.ts'

/** A response as it is made, before anything of it is sent. */
export interface HttpResponse {
  readonly status: number
  /**
   * Text that is made piece by piece is sent no faster than it is read, chunked. A failure before the first piece is
   * answered like any other; one after it cuts the connection off, so that nobody takes the response for whole.
   */
  readonly body: string | Uint8Array | AsyncIterable<string>
  /** Default `application/json; charset=utf-8`. */
  readonly type?: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Each piece is sent as it comes, however little: somebody waits for it. */
  readonly flush?: boolean
  /** The connection ends with the response. */
  readonly close?: boolean
  /** Sent when this is kept; a rejection is answered as a failure. Costs less than a promise of the response. */
  readonly behind?: Promise<unknown>
}

/**
 * What any failure is answered with; an `HttpError` always with its status. `unexpected`: a fault of the program, of
 * which the client learns nothing but the request id.
 */
export type ExplainFailure = (error: unknown) => {
  readonly response: HttpResponse
  readonly unexpected: boolean
  /** Of a 429: the limit that was reached. */
  readonly limit?: Limit | undefined
  /** Of the failure, when the response has another one. */
  readonly status?: number
}

/** Status lines by status. */
export const STATUS_LINES: Readonly<Record<number, string>> = {
  200: '200 OK',
  202: '202 Accepted',
  204: '204 No Content',
  303: '303 See Other',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  408: '408 Request Timeout',
  409: '409 Conflict',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  429: '429 Too Many Requests',
  431: '431 Request Header Fields Too Large',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
  505: '505 HTTP Version Not Supported',
}

export const JSON_TYPE = 'application/json; charset=utf-8'
export const NDJSON_TYPE = 'application/x-ndjson'

/** Whether a body is there as a whole, and not streamed. */
export function isWhole(body: HttpResponse['body']): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array
}

/** Adds a response's own headers to those of its request. @param headers name, value, name, value; it is added to */
export function completeHeaders(
  headers: string[],
  { type, headers: own }: HttpResponse,
  hasContent: boolean,
): readonly string[] {
  if (hasContent) headers.push('content-type', type ?? JSON_TYPE)
  if (own) for (const name in own) headers.push(name, own[name]!)
  return headers
}
