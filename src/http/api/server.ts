import { andThen } from '../../run/and-then.ts'
import type { Authenticator, Caller, RateDecision, RateLimiter } from '../../tenants/tenancy.ts'
import type { Exchange } from '../engine/exchange.ts'
import { HttpError, tooMany } from '../engine/http-error.ts'
import type { HttpResponse } from '../engine/response.ts'
import { createServer, type HttpServer, type ServerOptions } from '../engine/server.ts'
import { errorResponse } from '../route/errors.ts'
import type { KeyedRoute, Route } from '../route/route.ts'
import { whyNoCaller } from './no-caller.ts'
import { targetsOf } from './targets.ts'

export type { HttpServer } from '../engine/server.ts'

interface HttpServerOptions extends Omit<ServerOptions, 'targets' | 'explain'>, Guards {
  /** See `createRoutes`. */
  readonly routes: readonly Route[]
}

/** The objects that decide whether a request may continue. */
interface Guards {
  readonly authenticator: Authenticator
  readonly limiter: RateLimiter
}

/**
 * A server for the routes. It checks a request in this order: route and method, framing, key, rate limit, size, content
 * encoding, syntax, schema, quota; the last three are the routes' own (schemas/README.md, Order of checks).
 */
export function createHttpServer({ routes, authenticator, limiter, ...options }: HttpServerOptions): HttpServer {
  const guards = { authenticator, limiter }
  const targets = targetsOf(routes, (route, exchange) => respond(route, exchange, guards))
  return createServer({ ...options, targets, explain: errorResponse })
}

function respond(route: Route, exchange: Exchange, guards: Guards): HttpResponse | Promise<HttpResponse> {
  if (route.cors === true) addCors(exchange)
  if (route.access === 'open') {
    exchange.assertBody()
    return route.handle(exchange)
  }
  const { authenticator } = guards
  const found =
    route.keyOf === undefined
      ? authenticator.authenticate(exchange.request.head.apiKey)
      : andThen(route.keyOf(exchange), (key) => authenticator.authenticate(key))
  return andThen(found, (caller) => admit(route, exchange, caller, guards))
}

function admit(
  route: KeyedRoute,
  exchange: Exchange,
  caller: Caller | undefined,
  { limiter }: Guards,
): HttpResponse | Promise<HttpResponse> {
  if (!caller || caller.source?.kind !== route.sourceKind) throw new HttpError(401, whyRefused(route, exchange, caller))
  return andThen(limiter.take(caller), (rate) => handle(route, exchange, caller, rate))
}

function whyRefused({ keyOf, sourceKind }: KeyedRoute, { request }: Exchange, caller: Caller | undefined): string {
  if (caller?.source !== undefined) {
    return sourceKind === undefined
      ? 'a source key only sends events of its source: use an API key here'
      : `the key is that of a source of kind ${caller.source.kind}, and this path takes ${sourceKind}`
  }
  if (caller !== undefined) return 'this path takes a source key: ./ipid source create makes one'
  return keyOf === undefined ? whyNoCaller(request) : 'the key is missing or not valid'
}

function handle(
  route: KeyedRoute,
  exchange: Exchange,
  caller: Caller,
  rate: RateDecision,
): HttpResponse | Promise<HttpResponse> {
  addRate(exchange, rate)
  if (!rate.allowed) throw tooMany('rate limit exceeded', rate.retryAfterSeconds, 'rate')
  exchange.assertBody()
  return route.handle(exchange, caller)
}

/** Beacons send credentials, for which a wildcard does not do. The API reads no cookies, so nothing depends on them. */
function addCors(exchange: Exchange): void {
  const { origin } = exchange.request.head
  if (origin === '') return
  exchange.addHeader('access-control-allow-origin', origin)
  exchange.addHeader('access-control-allow-credentials', 'true')
  exchange.addHeader('vary', 'origin')
}

function addRate(exchange: Exchange, rate: RateDecision): void {
  exchange.addHeader('ratelimit-limit', String(rate.limit))
  exchange.addHeader('ratelimit-remaining', String(rate.remaining))
  exchange.addHeader('ratelimit-reset', String(rate.resetSeconds))
}
