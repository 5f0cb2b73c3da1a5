import type { ErrorBody } from '../../../schemas/api/error.ts'
import { BackpressureError, InputError, UnavailableError } from '../../run/errors.ts'
import type { ArrivedRequest } from '../engine/engine.ts'
import { type ErrorStatus, HttpError, retryAfter, tooMany } from '../engine/http-error.ts'
import { DEFAULT_HTTP_LIMITS } from '../engine/limits.ts'
import { tooLittle } from '../engine/request-body.ts'
import type { ExplainFailure, HttpResponse } from '../engine/response.ts'

/** The meaning of each error status, for the OpenAPI document (schemas/README.md, Errors). */
export const ERROR_MEANINGS: Readonly<Record<ErrorStatus, string>> = {
  400: 'Malformed request: not JSON, not UTF-8, no events, addresses or lines, a broken content encoding, or a body whose length is unclear',
  401: 'The x-api-key header is missing, or its key is unknown or revoked',
  403: 'Not for this caller',
  404: 'There is no such path, job, event or company',
  405: 'The path does not have this method; the allow header names those that it has',
  408: `The body arrived too slowly: ${tooLittle(DEFAULT_HTTP_LIMITS)} while there was room for it`,
  409: 'The job has ended already, or the Idempotency-Key is that of another request, or of one that is still being received',
  413: 'Payload too large: too many events, addresses, lines, values, parameters or bytes, as sent or decoded',
  415: 'The content-encoding is not gzip (paths of sources also take deflate, br and, with Node.js 22.15 or newer, zstd), or an upload has no lines',
  422: 'Schema mismatch: something required is missing, or has the wrong type',
  429: 'Rate limit, daily lookup quota, number of unfinished jobs or number of unknown keys exceeded, or the service is full: wait for the seconds in retry-after',
  500: 'Server error: try again with exponential backoff',
  503: 'Not ready',
}

/** The response to any failure, unless a route has a form of its own. */
export const errorResponse: ExplainFailure = explainAs(({ status, code, message: detail, errors }) => {
  const body: ErrorBody = { detail, code, ...(errors && { errors: [...errors] }) }
  return { status, body: JSON.stringify(body) }
})

/**
 * Answers failures in a form of its own.
 * @param form makes the response; headers of the failure, such as `retry-after`, are added to it
 */
export function explainAs(form: (error: HttpError, request?: ArrivedRequest) => HttpResponse): ExplainFailure {
  return (error, request) => {
    const expected = asHttpError(error)
    const known = expected ?? new HttpError('unexpected', 'unexpected failure', { headers: retryAfter(1) })
    const response = form(known, request)
    const { status, limit, close } = known
    const headers = response.headers === undefined ? known.headers : { ...known.headers, ...response.headers }
    return { response: { ...response, headers, close }, unexpected: expected === undefined, limit, status }
  }
}

function asHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error
  if (error instanceof BackpressureError) return tooMany(error.message, error.retryAfterSeconds, error.limit)
  if (error instanceof UnavailableError) {
    return new HttpError('store_unavailable', error.message, { headers: retryAfter(error.retryAfterSeconds) })
  }
  if (error instanceof InputError) {
    const { message, field } = error
    return new HttpError('invalid_request', message, field === undefined ? {} : { errors: [{ path: field, message }] })
  }
  return undefined
}
