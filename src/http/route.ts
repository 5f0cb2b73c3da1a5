import type { Exchange } from './exchange.ts'
import type { Operation } from './openapi.ts'
import type { Reply } from './reply.ts'

/** One operation of the API. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** Parameters are whole segments, like `/v1/bulk/:job_id`; the first is `Exchange.parameter`. */
  readonly path: string
  /** `key`: only with an API key, and within its tenant's rate limit. `Exchange.caller` is there then. */
  readonly access: 'open' | 'key'
  /** How large a body may be, bytes, as sent and decoded. Undefined: the route has none; one that is sent is ignored. */
  readonly bodyMaxBytes?: number
  /** The body is taken piece by piece with `Exchange.stream`, and not as a whole with `Exchange.text`. */
  readonly streamsBody?: boolean
  /** What the OpenAPI document says of it. Undefined: nothing. */
  readonly operation?: Operation
  /**
   * Makes the answer. Runs when key, rate limit and announced size are in order; the body may still be arriving. Throws
   * `HttpError`, `UnavailableError`, `BackpressureError` or `InputError`; anything else is answered 500 and logged.
   */
  handle(exchange: Exchange): Reply | Promise<Reply>
}
