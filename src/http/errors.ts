import type { ErrorBody } from '../../schemas/api/error.ts'
import { BackpressureError, InputError, UnavailableError } from '../core/run/errors.ts'
import type { Reply } from './reply.ts'

export type ErrorStatus = 400 | 401 | 404 | 405 | 408 | 413 | 415 | 422 | 429 | 500 | 503

/** What each error status means (schemas/README.md, Errors). */
export const ERROR_MEANINGS: Readonly<Record<ErrorStatus, string>> = {
  400: 'Malformed request: not JSON, not UTF-8, no events or addresses, or a broken content encoding',
  401: 'The x-api-key header is missing, or its key is unknown or revoked',
  404: 'There is no such path, or no such job',
  405: 'The path does not have this method; the allow header names those that it has',
  408: 'The body arrived too slowly',
  413: 'Payload too large: too many events, addresses or bytes, as sent or decoded',
  415: 'The content-encoding is not gzip',
  422: 'Schema mismatch: something required is missing, or has the wrong type',
  429: 'Rate limit or quota exceeded, or the service is full: wait for the seconds in retry-after',
  500: 'Server error: try again with exponential backoff',
  503: 'Not ready',
}

/** One place in the body and what is wrong with it. The path is like `events[3].ip`, `''` for the body itself. */
export type FieldError = NonNullable<ErrorBody['errors']>[number]

/** An answer of 400 and above. The message is its `detail`. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: ErrorStatus
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly errors: readonly FieldError[] | undefined
  /** The connection ends with the answer. */
  readonly close: boolean

  constructor(
    status: ErrorStatus,
    detail: string,
    options: { headers?: Record<string, string>; errors?: readonly FieldError[]; close?: boolean } = {},
  ) {
    super(detail)
    this.status = status
    this.headers = options.headers
    this.errors = options.errors
    this.close = options.close ?? false
  }
}

/** The request ended before its answer; nobody waits for one. */
export class AbortedError extends Error {
  override name = 'AbortedError'
}

/** 429: the client may come back after so many seconds. */
export function tooMany(detail: string, retryAfterSeconds: number): HttpError {
  return new HttpError(429, detail, { headers: retryAfter(retryAfterSeconds) })
}

/**
 * What any failure is answered with. `unexpected`: a fault of the program, of which the client learns nothing but the
 * request id.
 */
export function errorReply(error: unknown): { readonly reply: Reply; readonly unexpected: boolean } {
  const expected = asHttpError(error)
  const known = expected ?? new HttpError(500, 'unexpected failure', { headers: retryAfter(1) })
  const body: ErrorBody = { detail: known.message, ...(known.errors && { errors: [...known.errors] }) }
  const reply = { status: known.status, body: JSON.stringify(body), headers: known.headers, close: known.close }
  return { reply, unexpected: expected === undefined }
}

function asHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error
  if (error instanceof BackpressureError) return tooMany(error.message, error.retryAfterSeconds)
  if (error instanceof UnavailableError) {
    return new HttpError(500, error.message, { headers: retryAfter(error.retryAfterSeconds) })
  }
  if (error instanceof InputError) return new HttpError(422, error.message)
  return undefined
}

function retryAfter(seconds: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }
}
