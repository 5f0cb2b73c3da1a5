import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Service } from '../../run/service.ts'
import { type ChosenEngine, chooseEngine, type EngineChoice } from './choose.ts'
import { connectableHost } from './connectable-host.ts'
import type { Engine, EngineRoute } from './engine.ts'
import { type Endpoint, Exchange } from './exchange.ts'
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './limits.ts'
import type { ExplainFailure } from './response.ts'
import { type ClientOf, Traffic } from './traffic.ts'

export interface ServerOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** The settings that give host and port, for error messages. Default: `HOST` and `PORT`. */
  readonly hostSetting?: string
  readonly portSetting?: string
  /** Whether other processes may listen on the same port. Default true. */
  readonly sharePort?: boolean
  /** Default `auto`. */
  readonly engine?: EngineChoice
  /** How long a connection waits for its next request, seconds. Undefined: as long as the engine's own default. */
  readonly idleSeconds?: number | undefined
  /** The request handlers; at least one must match every request. */
  readonly targets: readonly Target[]
  readonly explain: ExplainFailure
  readonly log: Logger
  readonly metrics: Registry
  /** Called for each response with its status. */
  readonly onResponse?: (status: number) => void
  /** See `TrafficOptions`. */
  readonly clientOf?: ClientOf
  readonly limits?: Partial<HttpLimits>
}

/** Requests with this method and path go to this endpoint. */
export interface Target extends Pick<EngineRoute, 'method' | 'path'> {
  readonly endpoint: Endpoint
}

/** The HTTP server. `url` and `port` are available after its start. A stopped server can start again. */
export interface HttpServer extends Service {
  readonly port: number
  /** `http://host:port`, with an address that clients can connect to. */
  readonly url: string
}

/** Creates a server with the engine that runs here. A stop waits for requests in flight, up to `limits.stopMs`. */
export function createServer(options: ServerOptions): HttpServer {
  const { host, log, explain } = options
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits }
  const traffic = new Traffic(limits, log, options.metrics, options)
  const routes = options.targets.map(({ method, path, endpoint }): EngineRoute => {
    const headOnly = method === 'HEAD'
    return {
      method,
      path,
      arrived: (request, writer) => new Exchange(request, writer, endpoint, headOnly, traffic, explain),
    }
  })
  let chosen: ChosenEngine | undefined
  let engine: Engine | undefined
  let { port } = options
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined

  async function open(): Promise<void> {
    await stopping
    const { idleSeconds } = options
    chosen ??= await chooseEngine(options.engine ?? 'auto', idleSeconds !== undefined)
    const fresh = chosen.create(routes, { idleMs: idleSeconds && idleSeconds * 1_000 })
    const { hostSetting = 'HOST', portSetting = 'PORT', sharePort = true } = options
    port = await fresh.listen({ host, port: options.port, hostSetting, portSetting }, sharePort)
    engine = fresh
    traffic.start()
  }

  async function close(): Promise<void> {
    const opening = starting
    starting = undefined
    await opening?.catch(() => {})
    if (!engine) return
    const closing = engine
    engine = undefined
    closing.stopListening()
    const left = await traffic.drain(limits.stopMs)
    if (left > 0) log.warn({ requests: left }, 'requests were cut off')
    traffic.stop()
    closing.close()
  }

  return {
    name: 'http',
    get port() {
      return port
    },
    get url() {
      return `http://${connectableHost(host)}:${port}`
    },
    async start() {
      starting ??= open().then(() => {
        const { name, version, note } = chosen!
        const engine = version === undefined ? name : `${name} ${version}`
        log.info({ url: this.url, engine, ...(note !== undefined && { note }) }, 'listening')
      })
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
