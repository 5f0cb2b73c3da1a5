import type { FieldError } from '../../core/event/validator.ts'

export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 422 | 429 | 500 | 503

/** A response of 400 and above. The message is its `detail`. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: ErrorStatus
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly errors: readonly FieldError[] | undefined
  /** The connection ends with the response. */
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

/** The request ended before its response; nobody waits for one. */
export class AbortedError extends Error {
  override name = 'AbortedError'
}

/** 429: the client may come back after so many seconds. */
export function tooMany(detail: string, retryAfterSeconds: number): HttpError {
  return new HttpError(429, detail, { headers: retryAfter(retryAfterSeconds) })
}

/** The header that tells after how many seconds to try again: whole ones, at least 1. */
export function retryAfter(seconds: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }
}
