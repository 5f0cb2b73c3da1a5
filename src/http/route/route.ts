import type { Caller } from '../../tenants/tenancy.ts'
import type { ArrivedRequest } from '../engine/engine.ts'
import type { Endpoint, Exchange } from '../engine/exchange.ts'
import type { HttpError } from '../engine/http-error.ts'
import type { HttpResponse } from '../engine/response.ts'
import type { Operation } from './operation.ts'

/** One operation of the API. */
export type Route = OpenRoute | KeyedRoute

/** Needs no API key. */
export interface OpenRoute extends RouteFacts {
  readonly access: 'open'
  /** Makes the response. Throws as a keyed route. */
  handle(exchange: Exchange): HttpResponse | Promise<HttpResponse>
}

/** Needs an API key, and is subject to its tenant's rate limit. */
export interface KeyedRoute extends RouteFacts {
  readonly access: 'key'
  /** The kind of the sources whose keys open it, and no other key does. Undefined: API keys open it. */
  readonly sourceKind?: string
  /** Whether test keys open it too: it answers without storing anything. Default: false. */
  readonly takesTestKeys?: boolean
  /** Reads the key of a request from another part of its head than the `x-api-key` header. Returns `''` when there is none. */
  keyOf?(exchange: Exchange): string
  /**
   * Finds the key in the body when the head has none, without reading it as a whole: see `Exchange.search`. Called after `assertBody`.
   * @param onlyStart whether to search only the start of the body
   */
  keyInBody?(exchange: Exchange, onlyStart: boolean): string | undefined | Promise<string | undefined>
  /**
   * Makes the response. Runs when key, rate limit and announced size are valid; the body may still be arriving. Throws
   * `HttpError`, `UnavailableError`, `BackpressureError` or `InputError`; anything else is answered 500 and logged.
   */
  handle(exchange: Exchange, caller: Caller): HttpResponse | Promise<HttpResponse>
}

interface RouteFacts extends Omit<Endpoint, 'respond' | 'explain'> {
  readonly method: 'GET' | 'POST'
  /** Parameters are whole segments, like `/v1/bulk/:job_id`; they are `ArrivedRequest.parameters`. */
  readonly path: string
  /** Its description in the OpenAPI document. Undefined: not listed. */
  readonly operation?: Operation
  /** Whether pages of any origin may send requests and read their answers (CORS). Default: false. */
  readonly cors?: boolean
  /**
   * Answers the failures of its requests in a form of its own, 401, 429 and 5xx too. Default: `{"detail"}`. The headers of the
   * failure, such as `retry-after`, are added. Must not throw.
   */
  refuse?(error: HttpError, request?: ArrivedRequest): HttpResponse
}
