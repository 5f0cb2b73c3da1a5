import { andThen } from '../../run/and-then.ts'
import { type Clock, systemClock } from '../../run/clock.ts'
import { isRawKey } from '../../tenants/key.ts'
import type { LimitDecision, Limiter } from '../../tenants/limits/limits.ts'
import type { Authenticator, Caller } from '../../tenants/tenancy.ts'
import { clientAddress } from '../engine/client-address.ts'
import type { Exchange } from '../engine/exchange.ts'
import { HttpError, tooMany } from '../engine/http-error.ts'
import type { HttpResponse } from '../engine/response.ts'
import { createServer, type HttpServer, type ServerOptions, type Target } from '../engine/server.ts'
import type { ClientOf } from '../engine/traffic.ts'
import { trustedProxies } from '../engine/trusted-proxies.ts'
import { errorResponse, explainAs } from '../route/errors.ts'
import { assertParameters, parseQuery } from '../route/query.ts'
import type { KeyedRoute, OpenRoute, Route } from '../route/route.ts'
import { noCallerError, testKeyError } from './no-caller.ts'
import { clientNetwork, UnknownKeys } from './unknown-keys.ts'

export type { HttpServer } from '../engine/server.ts'

interface HttpServerOptions
  extends Omit<ServerOptions, 'targets' | 'explain' | 'clientOf'>,
    Omit<Guards, 'unknownKeys'> {
  /** See `createRoutes`. */
  readonly routes: readonly Route[]
  /** Proxies that may name the clients of requests. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined
  /** Default: the system's. */
  readonly clock?: Clock
}

/** The objects that decide whether a request may continue. */
interface Guards {
  readonly authenticator: Authenticator
  readonly limiter: Limiter
  readonly unknownKeys: UnknownKeys
}

/**
 * A server for the routes. It checks a request in this order: route and method, framing, key, rate limit, size, content
 * encoding, syntax, schema, quota; the last three are the routes' own (schemas/README.md, Order of checks).
 */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { routes, authenticator, limiter, trustedProxies: networks = [], clock = systemClock, ...others } = options
  const guards = { authenticator, limiter, unknownKeys: new UnknownKeys(clock) }
  const trusted = trustedProxies(networks)
  const clientOf: ClientOf = (exchange) =>
    clientNetwork(clientAddress(exchange.peerAddress(), exchange.request.head, trusted))
  const targets = targetsOf(routes, (route, exchange) => respond(route, exchange, guards))
  return createServer({ ...others, targets, explain: errorResponse, clientOf })
}

function respond(route: Route, exchange: Exchange, guards: Guards): HttpResponse | Promise<HttpResponse> {
  if (route.cors === true) addCors(exchange)
  if (route.access === 'open') {
    exchange.assertBody()
    return route.handle(exchange)
  }
  // Caches know only `authorization` as a sign of a caller (RFC 9111 section 3.5).
  if (route.sourceKind === undefined) exchange.addHeader('cache-control', 'no-store')
  return andThen(callerOf(route, exchange, guards), (caller) => admit(route, exchange, caller, guards))
}

/** The caller with the request's key. Finding out that a key is unknown counts against the client. */
function callerOf(
  route: KeyedRoute,
  exchange: Exchange,
  { authenticator, unknownKeys }: Guards,
): Caller | undefined | Promise<Caller | undefined> {
  const assertFew = () => unknownKeys.assertFew(() => exchange.client)
  const key = route.keyOf === undefined ? exchange.request.head.apiKey : route.keyOf(exchange)
  let found: Caller | undefined | Promise<Caller | undefined>
  let isCostly = false
  if (route.keyInBody === undefined || isRawKey(key)) {
    found = authenticator.authenticate(key, assertFew)
    isCostly = found instanceof Promise
  } else {
    exchange.assertBody()
    isCostly = true
    const onlyStart = unknownKeys.areTooMany(() => exchange.client)
    found = andThen(route.keyInBody(exchange, onlyStart), (inBody) => {
      if (inBody === undefined) assertFew()
      return authenticator.authenticate(inBody ?? key, assertFew)
    })
  }
  if (!isCostly) return found
  return andThen(found, (caller) => {
    if (caller === undefined) unknownKeys.add(exchange.client)
    return caller
  })
}

function admit(
  route: KeyedRoute,
  exchange: Exchange,
  caller: Caller | undefined,
  { limiter }: Guards,
): HttpResponse | Promise<HttpResponse> {
  if (!caller || caller.source?.kind !== route.sourceKind) throw refusal(route, exchange, caller)
  if (caller.isTest) {
    if (route.takesTestKeys !== true) throw testKeyError()
    exchange.addHeader('ipid-test', 'true')
  }
  exchange.admit(caller.tenant.id)
  return andThen(limiter.take(caller, 1), (rate) => handle(route, exchange, caller, rate))
}

function refusal({ keyOf, sourceKind }: KeyedRoute, { request }: Exchange, caller: Caller | undefined): HttpError {
  const wrongKind = (detail: string) => new HttpError('wrong_key_kind', detail)
  if (caller?.source !== undefined) {
    return sourceKind === undefined
      ? wrongKind('a source key only sends events of its source: use an API key here')
      : wrongKind(`the key is that of a source of kind ${caller.source.kind}, and this path takes ${sourceKind}`)
  }
  if (caller !== undefined) return wrongKind('this path takes a source key: ./ipid source create makes one')
  return keyOf === undefined ? noCallerError(request) : new HttpError('unknown_key', 'the key is missing or not valid')
}

function handle(
  route: KeyedRoute,
  exchange: Exchange,
  caller: Caller,
  rate: LimitDecision,
): HttpResponse | Promise<HttpResponse> {
  addRate(exchange, rate)
  if (!rate.allowed) throw tooMany(`${rate.name} exceeded`, rate.retryAfterSeconds, 'rate')
  exchange.assertBody()
  const { query } = exchange.request
  // A route with a body does it when the body is read: a body that is not JSON is the first fault.
  if (
    query !== '' &&
    route.operation !== undefined &&
    route.bodyMaxBytes === undefined &&
    route.sourceKind === undefined
  )
    assertParameters(route.operation, parseQuery(query))
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

function addRate(exchange: Exchange, rate: LimitDecision): void {
  exchange.addHeader('ratelimit-policy', `${rate.limit};w=${rate.windowSeconds}`)
  exchange.addHeader('ratelimit-limit', String(rate.limit))
  exchange.addHeader('ratelimit-remaining', String(rate.left))
  exchange.addHeader('ratelimit-reset', String(rate.resetSeconds))
}

type Respond = (route: Route, exchange: Exchange) => HttpResponse | Promise<HttpResponse>

/** The routes, a 405 answer for other methods on their paths, and a 404 answer for all other paths. */
export function targetsOf(routes: readonly Route[], respond: Respond): Target[] {
  const endpointOf = (route: Route) => {
    const { path, bodyMaxBytes, streamsBody, takesAnyCoding, beginsTogether, keepsPeer, refuse } = route
    return {
      path,
      bodyMaxBytes,
      streamsBody,
      takesAnyCoding,
      beginsTogether,
      keepsPeer,
      explain: refuse && explainAs(refuse),
      respond: (exchange: Exchange) => respond(route, exchange),
    }
  }
  const targets: Target[] = []
  const add = (path: string, route: Route, ...methods: Target['method'][]) => {
    const endpoint = endpointOf(route)
    for (const method of methods) targets.push({ method, path, endpoint })
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const get = routes.find((route) => route.path === path && route.method === 'GET')
    const post = routes.find((route) => route.path === path && route.method === 'POST')
    const allow = [...(get ? ['GET', 'HEAD'] : []), ...(post ? ['POST'] : []), 'OPTIONS'].join(', ')
    if (get) add(path, get, 'GET', 'HEAD')
    if (post) add(path, post, 'POST')
    const refuse = (post ?? get)?.refuse
    const cors = (post ?? get)?.cors ?? false
    const options = openRoute(path, ({ request: { head } }) => {
      const headers = { allow, ...(cors && preflightHeaders(allow, head.corsHeaders)) }
      return { status: 204, body: '', headers }
    })
    add(path, { ...options, refuse, cors }, 'OPTIONS')
    const refuseMethod = openRoute(path, () => {
      throw new HttpError('method_not_allowed', `this path takes ${allow}`, { headers: { allow } })
    })
    const wrongMethod = { ...refuseMethod, refuse, cors }
    add(path, wrongMethod, ...(get ? [] : ['HEAD' as const]), 'any')
  }
  const notFound = openRoute('(none)', () => {
    throw new HttpError('unknown_path', 'this path does not exist: see /docs')
  })
  add('/*', notFound, 'HEAD', 'any')
  return targets
}

/** Allows any header for a day: libraries send headers of their own, and only those of a key mean anything here. */
function preflightHeaders(methods: string, asked: string): Record<string, string> {
  return {
    'access-control-allow-methods': methods,
    ...(asked !== '' && { 'access-control-allow-headers': asked, vary: 'access-control-request-headers' }),
    'access-control-max-age': '86400',
  }
}

function openRoute(path: string, handle: OpenRoute['handle']): OpenRoute {
  return { method: 'GET', path, access: 'open', handle }
}
