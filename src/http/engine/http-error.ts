import { ERRORS, type ErrorCode } from '../../../schemas/api/error.ts'
import type { FieldError } from '../../pipeline/event/validator.ts'

/** The limit that caused a 429, for metrics. */
export const LIMITS = ['rate', 'quota', 'intake', 'jobs', 'questions', 'requests', 'bytes'] as const
export type Limit = (typeof LIMITS)[number]

export type ErrorStatus = (typeof ERRORS)[ErrorCode][0]

/** The code of a 429, by the limit that caused it. */
const CODES: Readonly<Record<Limit, ErrorCode>> = {
  rate: 'rate_limited',
  quota: 'quota_exceeded',
  intake: 'queue_full',
  jobs: 'too_many_jobs',
  questions: 'too_many_questions',
  requests: 'too_many_requests',
  bytes: 'too_many_bytes',
}

/** A response of 400 and above. The message is its `detail`; the code decides its status. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly code: ErrorCode
  readonly status: ErrorStatus
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly errors: readonly FieldError[] | undefined
  /** The connection ends with the response. */
  readonly close: boolean
  /** Only of a 429. */
  readonly limit: Limit | undefined

  constructor(
    code: ErrorCode,
    detail: string,
    options: { headers?: Record<string, string>; errors?: readonly FieldError[]; close?: boolean; limit?: Limit } = {},
  ) {
    super(detail)
    this.code = code
    this.status = ERRORS[code][0]
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
  return new HttpError(CODES[limit], detail, { headers: retryAfter(retryAfterSeconds), limit })
}

/** The `retry-after` header in whole seconds, at least 1. */
export function retryAfter(seconds: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }
}
