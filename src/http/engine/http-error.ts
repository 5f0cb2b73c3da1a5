import type { FieldError } from '../../pipeline/event/validator.ts'

/** The limit that caused a 429, for metrics. */
export const LIMITS = ['rate', 'quota', 'intake', 'jobs', 'questions', 'requests', 'bytes'] as const
export type Limit = (typeof LIMITS)[number]

export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 422 | 429 | 500 | 503

/** A response of 400 and above. The message is its `detail`. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: ErrorStatus
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly errors: readonly FieldError[] | undefined
  /** The connection ends with the response. */
  readonly close: boolean
  /** Only of a 429. */
  readonly limit: Limit | undefined

  constructor(
    status: ErrorStatus,
    detail: string,
    options: { headers?: Record<string, string>; errors?: readonly FieldError[]; close?: boolean; limit?: Limit } = {},
  ) {
    super(detail)
    this.status = status
    this.headers = options.headers
    this.errors = options.errors
    this.close = options.close ?? false
    this.limit = options.limit
  }
}

/** The request ended before its response, so no response is needed. */
export class AbortedError extends Error {
  override name = 'AbortedError'
}

/** A 429 with the seconds after which to try again. */
export function tooMany(detail: string, retryAfterSeconds: number, limit: Limit): HttpError {
  return new HttpError(429, detail, { headers: retryAfter(retryAfterSeconds), limit })
}

/** The `retry-after` header in whole seconds, at least 1. */
export function retryAfter(seconds: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }
}
