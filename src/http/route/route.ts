import type { Caller } from '../../tenants/tenancy.ts'
import type { Endpoint, Exchange } from '../engine/exchange.ts'
import type { HttpResponse } from '../engine/response.ts'
import type { Operation } from './operation.ts'

/** One operation of the API. */
export type Route = OpenRoute | KeyedRoute

/** For everybody. */
export interface OpenRoute extends RouteFacts {
  readonly access: 'open'
  /** Makes the response. Throws as a keyed one. */
  handle(exchange: Exchange): HttpResponse | Promise<HttpResponse>
}

/** Only with an API key, and within its tenant's rate limit. */
export interface KeyedRoute extends RouteFacts {
  readonly access: 'key'
  /**
   * Makes the response. Runs when key, rate limit and announced size are in order; the body may still be arriving. Throws
   * `HttpError`, `UnavailableError`, `BackpressureError` or `InputError`; anything else is answered 500 and logged.
   */
  handle(exchange: Exchange, caller: Caller): HttpResponse | Promise<HttpResponse>
}

interface RouteFacts extends Omit<Endpoint, 'respond'> {
  readonly method: 'GET' | 'POST'
  /** Parameters are whole segments, like `/v1/bulk/:job_id`; they are `ArrivedRequest.parameters`. */
  readonly path: string
  /** What the OpenAPI document says of it. Undefined: nothing. */
  readonly operation?: Operation
}
