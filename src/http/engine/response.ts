import type { ArrivedRequest } from './engine.ts'
import type { Limit } from './http-error.ts'

/** A response before any of it is sent. */
export interface HttpResponse {
  readonly status: number
  /**
   * Text in pieces is sent chunked, no faster than the client reads. A failure before the first piece is answered like any
   * other; a later one cuts the connection off, so that the client does not take the response for complete.
   */
  readonly body: string | Uint8Array | AsyncIterable<string>
  /** Default `application/json; charset=utf-8`. */
  readonly type?: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sends each piece at once, however small, because the client waits for it. */
  readonly flush?: boolean
  /** The connection ends with the response. */
  readonly close?: boolean
  /**
   * Delays the response until this resolves; a rejection is answered as a failure. Cheaper than a promise of the response.
   */
  readonly after?: Promise<unknown>
}

/**
 * Maps any failure to a response; an `HttpError` keeps its status. `unexpected`: a fault of the program, of which the
 * client gets only the request id.
 */
export type ExplainFailure = (
  error: unknown,
  request?: ArrivedRequest,
) => {
  readonly response: HttpResponse
  readonly unexpected: boolean
  /** Of a 429: the reached limit. */
  readonly limit?: Limit | undefined
  /** Of the failure, when the response has another one. */
  readonly status?: number
}

/** Status lines, by status. */
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

/** Whether the body is available as a whole and not streamed. */
export function isWhole(body: HttpResponse['body']): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array
}

/** Adds the headers of a response to those of its request. @param headers name, value, name, value; extended in place */
export function completeHeaders(
  headers: string[],
  { type, headers: own }: HttpResponse,
  hasContent: boolean,
): readonly string[] {
  if (hasContent) headers.push('content-type', type ?? JSON_TYPE)
  if (own) for (const name in own) headers.push(name, own[name]!)
  return headers
}
