import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp } from 'uWebSockets.js'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { StartupError } from '../core/run/errors.ts'
import type { Service } from '../core/run/service.ts'
import type { Authenticator, RateLimiter } from '../tenants/tenancy.ts'
import { AbortedError, HttpError, tooMany } from './errors.ts'
import { Exchange } from './exchange.ts'
import { readHead } from './head.ts'
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './limits.ts'
import { type Listening, listen } from './listen.ts'
import type { Reply } from './reply.ts'
import type { Route } from './route.ts'
import { Traffic } from './traffic.ts'

export interface HttpServerOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Whether other ingress processes may listen on the same port. Default true. */
  readonly sharePort?: boolean
  /** See `createRoutes`. */
  readonly routes: readonly Route[]
  readonly authenticator: Authenticator
  readonly limiter: RateLimiter
  readonly log: Logger
  readonly metrics: Registry
  readonly limits?: Partial<HttpLimits>
}

/** Its type declarations leave out `close`, which ends all connections; what stands in for the engine lacks it. */
type ClosableApp = TemplatedApp & { close?: () => void }

/** The HTTP ingress. `url` and `port` are there once it is started. A stopped one starts again. */
export interface HttpServer extends Service {
  readonly port: number
  /** `http://host:port`, with an address that can be connected to. */
  readonly url: string
}

/**
 * A server for the routes. Checks of a request come in this order: route and method, key, rate limit, size, content
 * encoding, syntax, schema, quota; the last three are the routes' own.
 */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits }
  const traffic = new Traffic(limits, options.log, options.metrics)
  let app: ClosableApp | undefined
  let listening: Listening | undefined
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined

  async function open(): Promise<void> {
    await stopping
    const fresh = uWS.App() as ClosableApp
    if (!fresh.close) {
      throw new StartupError(
        `the HTTP engine has no build for Node.js ${process.versions.node} on ${process.platform}-${process.arch}: use Node.js 20`,
      )
    }
    register(fresh, options, traffic)
    listening = await listen(fresh, options.host, options.port, options.sharePort ?? true)
    app = fresh
    traffic.start()
  }

  async function close(): Promise<void> {
    const opening = starting
    starting = undefined
    await opening?.catch(() => {})
    if (!app || !listening) return
    const closing = app
    app = undefined
    uWS.us_listen_socket_close(listening.socket)
    const left = await traffic.drain(limits.stopMs)
    if (left > 0) options.log.warn({ requests: left }, 'requests were cut off')
    traffic.stop()
    closing.close?.()
  }

  return {
    name: 'http',
    get port() {
      return listening?.port ?? options.port
    },
    get url() {
      return `http://${connectableHost(options.host)}:${this.port}`
    },
    async start() {
      starting ??= open().then(() => options.log.info({ url: this.url }, 'listening'))
      await starting
    },
    stop() {
      stopping ??= close().finally(() => {
        stopping = undefined
      })
      return stopping
    },
  }
}

/** Adds the routes, what answers their paths to other methods, and what answers all other paths. */
function register(app: TemplatedApp, options: HttpServerOptions, traffic: Traffic): void {
  const handler = (route: Route, headOnly = false) => {
    const hasParameter = route.path.includes(':')
    return (response: HttpResponse, request: HttpRequest) => {
      const parameter = hasParameter ? request.getParameter(0) : ''
      const arrival = { route, head: readHead(request), parameter, query: request.getQuery() ?? '', headOnly }
      accept(new Exchange(response, arrival, traffic), response, options, traffic)
    }
  }
  for (const path of new Set(options.routes.map((route) => route.path))) {
    const get = options.routes.find((route) => route.path === path && route.method === 'GET')
    const post = options.routes.find((route) => route.path === path && route.method === 'POST')
    const allow = [...(get ? ['GET', 'HEAD'] : []), ...(post ? ['POST'] : []), 'OPTIONS'].join(', ')
    if (get) app.get(path, handler(get)).head(path, handler(get, true))
    if (post) app.post(path, handler(post))
    app.options(path, handler(open(path, () => ({ status: 204, body: '', headers: { allow } }))))
    const wrongMethod = open(path, () => {
      throw new HttpError(405, `this path takes ${allow}`, { headers: { allow } })
    })
    if (!get) app.head(path, handler(wrongMethod, true))
    app.any(path, handler(wrongMethod))
  }
  const notFound = open('(none)', () => {
    throw new HttpError(404, 'there is no such path')
  })
  app.head('/*', handler(notFound, true))
  app.any('/*', handler(notFound))
}

function open(path: string, handle: () => Reply): Route {
  return { method: 'GET', path, access: 'open', handle }
}

/** The engine wants its listeners set before the handler returns, and none of its objects used after an abort. */
function accept(exchange: Exchange, response: HttpResponse, options: HttpServerOptions, traffic: Traffic): void {
  response.onAborted(() => exchange.abort())
  if (exchange.arrival.head.hasBody) response.onData((chunk, last) => exchange.receive(chunk, last))
  const refusal = traffic.entered(exchange)
  if (refusal) exchange.fail(refusal)
  else void serve(exchange, options)
}

async function serve(exchange: Exchange, options: HttpServerOptions): Promise<void> {
  try {
    exchange.send(await answer(exchange, options))
  } catch (error) {
    if (!(error instanceof AbortedError)) exchange.fail(error)
  }
}

async function answer(exchange: Exchange, { authenticator, limiter }: HttpServerOptions): Promise<Reply> {
  const { route, head } = exchange.arrival
  if (head.badFraming !== undefined) {
    // Answered outside of the parser, so that it does not take what follows for another request.
    await new Promise(setImmediate)
    throw new HttpError(400, head.badFraming, { close: true })
  }
  if (route.access === 'key') {
    const found = authenticator.authenticate(head.apiKey)
    const caller = found instanceof Promise ? await found : found
    if (!caller) {
      throw new HttpError(401, head.apiKey === '' ? 'the x-api-key header is missing' : 'the API key is not valid')
    }
    exchange.caller = caller
    exchange.rate = await limiter.take(caller)
    if (!exchange.rate.allowed) throw tooMany('rate limit exceeded', exchange.rate.retryAfterSeconds)
  }
  exchange.demandBody()
  return route.handle(exchange)
}

function connectableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
