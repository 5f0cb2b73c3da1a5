/** Codes of the API (`GET /docs` explains them). A test compares them with those of the service. */
export const API_ERROR_CODES = [
  'malformed_request',
  'malformed_url',
  'malformed_json',
  'not_utf8',
  'broken_encoding',
  'empty_body',
  'no_events',
  'no_addresses',
  'missing_key',
  'unknown_key',
  'wrong_key_kind',
  'bad_signature',
  'unknown_path',
  'unknown_job',
  'rejected_lines_expired',
  'unknown_event',
  'unknown_company',
  'method_not_allowed',
  'slow_body',
  'job_ended',
  'idempotency_key_reused',
  'idempotency_key_in_use',
  'body_too_large',
  'too_many_events',
  'too_many_addresses',
  'too_many_values',
  'too_many_parameters',
  'unsupported_encoding',
  'unsupported_content_type',
  'invalid_request',
  'rate_limited',
  'quota_exceeded',
  'queue_full',
  'too_many_jobs',
  'too_many_questions',
  'too_many_requests',
  'too_many_bytes',
  'unexpected',
  'store_unavailable',
  'slow_answer',
  'not_ready',
] as const
export type ApiErrorCode = (typeof API_ERROR_CODES)[number]

/** Codes of this client, for what no answer of the API says. */
export const CLIENT_ERROR_CODES = [
  /** No whole answer came: no connection, or one that broke. */
  'network',
  /** No whole answer came within the time of a request. */
  'timeout',
  /** The answer is not one of ipid: that of a proxy, or a redirect. */
  'unexpected_answer',
  /** The service is newer than this client: `serverCode`, `status` and `detail` say what it is. */
  'unknown_code',
  /** The event cannot be written as JSON, or is no object. */
  'not_json',
  /** The event alone is larger than a request may be. */
  'event_too_large',
  /** `track` found no room in the queue of this client. */
  'client_queue_full',
  /** `close` was called before. */
  'client_closed',
  /** The time of `close`, or of the end of the process, ran out. */
  'not_delivered_in_time',
] as const
export type ClientErrorCode = (typeof CLIENT_ERROR_CODES)[number]

export type ErrorCode = ApiErrorCode | ClientErrorCode

/** A fault of a request: `path` is that of the value, such as `ip`. */
export interface Fault {
  readonly path: string
  readonly message: string
}

interface Facts {
  readonly status?: number
  readonly serverCode?: string
  readonly requestId?: string
  readonly errors?: readonly Fault[]
  readonly retryAfterMs?: number
  readonly mayBeStored?: boolean
}

/** A request that failed, or an event that was not delivered. It never contains the key. */
export class IpidError extends Error {
  override readonly name = 'IpidError'
  readonly code: ErrorCode
  /** The cause in words, which may change. */
  readonly detail: string
  /** HTTP status; undefined when no answer came. */
  readonly status: number | undefined
  /** The code as the service sent it; undefined when it sent none. */
  readonly serverCode: string | undefined
  /** `x-request-id` of the answer: name it when you report a fault. */
  readonly requestId: string | undefined
  /** What is wrong with the request; empty unless the code is `invalid_request`. */
  readonly errors: readonly Fault[]
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined
  /**
   * Whether the service may have taken the request although no answer says so. To send its events again under their ids is harmless
   * for 7 days.
   */
  readonly mayBeStored: boolean

  constructor(code: ErrorCode, detail: string, facts: Facts = {}) {
    super(`${detail} (${facts.serverCode ?? code}${facts.status === undefined ? '' : `, ${facts.status}`})`)
    this.code = code
    this.detail = detail
    this.status = facts.status
    this.serverCode = facts.serverCode
    this.requestId = facts.requestId
    this.errors = facts.errors ?? []
    this.retryAfterMs = facts.retryAfterMs
    this.mayBeStored = facts.mayBeStored ?? false
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    const { code, status } = this
    if (code === 'network' || code === 'timeout' || code === 'idempotency_key_in_use') return true
    // The quota of a day is no matter of seconds.
    if (status === undefined || code === 'quota_exceeded') return false
    return status === 408 || status === 429 || status >= 500 || (code === 'unexpected_answer' && status < 300)
  }

  /** The same error, with other facts. */
  with(facts: Pick<Facts, 'errors' | 'mayBeStored'>): IpidError {
    const { status, serverCode, requestId, errors, retryAfterMs, mayBeStored } = this
    return new IpidError(this.code, this.detail, {
      ...{ status, serverCode, requestId, errors, retryAfterMs, mayBeStored },
      ...facts,
    })
  }
}

const KNOWN: ReadonlySet<string> = new Set(API_ERROR_CODES)

export function isApiErrorCode(code: string): code is ApiErrorCode {
  return KNOWN.has(code)
}
