import { type Static, Type } from 'typebox'

type Errors = Readonly<Record<string, readonly [status: number, meaning: string]>>

/**
 * The causes of the API's answers of 400 and above, each with its status and what to do. A code never changes its meaning: programs decide by
 * it, and `detail` is for people. New codes may come, so a program treats an unknown one as its status.
 */
export const API_ERRORS = {
  malformed_request: [400, 'The request is broken: its framing, its header or its first line'],
  malformed_url: [400, 'The path or the query is not percent-encoded UTF-8'],
  malformed_json: [400, 'The body is not JSON; the detail says where it breaks'],
  not_utf8: [400, 'The body is not UTF-8'],
  broken_encoding: [400, 'The body is not what its content-encoding says, or is cut off'],
  empty_body: [400, 'The body is empty'],
  no_events: [400, 'The request has no event: send one or more'],
  no_addresses: [400, 'The request has no address: send one or more'],
  missing_key: [401, 'Send the key in the header x-api-key'],
  unknown_key: [401, 'The key is unknown or revoked, or it is not a whole key'],
  wrong_key_kind: [401, 'The key is valid, and of another kind than this path takes'],
  bad_signature: [403, "The signature of the body is missing, or not made with the source's secret"],
  unknown_path: [404, 'There is no such path: see /docs'],
  unknown_job: [404, 'There is no such job, or it has expired, or it is of another tenant'],
  rejected_lines_expired: [404, 'The rejected lines of the job are no longer kept: see rejected_lines of the job'],
  unknown_event: [404, 'There is no such event, or it is of another tenant; the detail says why it may be so'],
  unknown_company: [404, 'There is no such company'],
  method_not_allowed: [405, 'The path does not have this method: see the header allow'],
  slow_body: [408, 'The body arrived too slowly: compress it, or send less at a time'],
  job_ended: [409, 'The job has ended already'],
  idempotency_key_reused: [
    409,
    'The first request with this Idempotency-Key had another body or other options: use a new key',
  ],
  idempotency_key_in_use: [
    409,
    'The first request with this Idempotency-Key is still being received, or broke off less than 15 s ago: wait for retry-after',
  ],
  body_too_large: [413, 'The body has too many bytes, as sent or decoded'],
  too_many_events: [413, 'More events than a request may have: send several'],
  too_many_addresses: [413, 'More addresses than a request may have: send several'],
  too_many_values: [413, 'The JSON of the body has too many values'],
  too_many_parameters: [413, 'The form or the query has too many parameters'],
  unsupported_encoding: [415, 'The content-encoding is not one that this path takes'],
  unsupported_content_type: [415, 'The body is of a type that this path does not take: the detail says what to send'],
  invalid_request: [422, 'Something required is missing, unknown, or of another type: `errors` says where'],
  rate_limited: [429, 'More requests than the plan allows: wait for retry-after'],
  quota_exceeded: [429, 'The lookups of the day are used: they start anew at midnight UTC'],
  queue_full: [
    429,
    'The service takes nothing more for the moment. Nothing that it took is lost: wait for retry-after',
  ],
  too_many_jobs: [429, 'The tenant has as many unfinished jobs, or bytes in them, as it may: wait until one has ended'],
  too_many_questions: [429, 'Too many queries of companies or events are running: wait for retry-after'],
  too_many_requests: [429, 'Too many requests are in progress: open fewer at once'],
  too_many_bytes: [429, 'Too many bytes of requests are being received: send fewer at once'],
  unexpected: [500, 'A fault of the server: try again with exponential backoff'],
  store_unavailable: [500, 'A store does not answer: try again after retry-after'],
  slow_answer: [500, 'The answer took too long: try again with exponential backoff'],
  not_ready: [
    503,
    'GET /readyz: the detail says what is missing. On other paths a proxy does not reach the service: wait for retry-after',
  ],
} as const satisfies Errors

/** Causes that only the dashboard answers. */
const DASHBOARD_ERRORS = {
  not_signed_in: [401, 'Sign in again'],
  forbidden: [403, 'Not for this caller'],
  unknown_workspace: [404, 'There is no such workspace'],
  not_found: [404, 'This is no longer kept'],
  conflict: [409, 'Something else happened before; the detail says what'],
  stopping: [503, 'The dashboard stops: try again'],
  provider_unavailable: [503, 'The provider that signs people in does not answer: try again'],
  too_much_work: [503, 'Too many events to try this here'],
} as const satisfies Errors

export const ERRORS = { ...API_ERRORS, ...DASHBOARD_ERRORS }

export type ErrorCode = keyof typeof ERRORS

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[]

/** Body of every answer of 400 and above. Only 422 has `errors`. */
export const ErrorBody = Type.Object(
  {
    detail: Type.String({ description: 'The cause in words, which may change' }),
    code: Type.Enum(ERROR_CODES, { description: 'The cause, for programs. More codes may come' }),
    errors: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), { maxItems: 20 })),
  },
  { title: 'Error' },
)
export type ErrorBody = Static<typeof ErrorBody>
