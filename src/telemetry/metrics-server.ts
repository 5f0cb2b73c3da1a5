import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client'
import { connectableHost } from '../http/engine/connectable-host.ts'
import { InputError } from '../run/errors.ts'
import { hostProblem, portRefusal } from '../run/host-problem.ts'
import { isLoopbackHost } from '../run/loopback.ts'
import type { Service } from '../run/service.ts'
import { Lifecycle } from '../run/service.ts'

/** The result of a registry's `getMetricsAsJSON`. */
export type MetricSet = MetricObjectWithValues<MetricValue<string>>[]

interface MetricsServerOptions {
  /** On a loopback address it answers only requests that name this machine. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Whether to use any free port, with a warning, when `port` is taken. */
  readonly mayMove: boolean
  /** The metrics of every process, one set each. */
  readonly gather: () => Promise<MetricSet[]>
  /** Why the machine's processes are not all at work, one line each; nothing when they are. */
  readonly problems: () => Promise<readonly string[]>
  /** The verdict on the whole system, on all machines. */
  readonly verdict: () => Promise<{ readonly isStalled: boolean; readonly text: string }>
  readonly log: Logger
}

/**
 * `GET /metrics` in the Prometheus text format: the metrics of all processes of this machine as one. `GET /readyz`: 200 when every
 * process runs and answers, else 503 with the reasons, one a line. `GET /progress`: the verdict of `ipid status`, 200 unless it is stalled
 * or unknown.
 */
export class MetricsServer implements Service {
  readonly name = 'metrics'
  readonly #options: MetricsServerOptions
  readonly #life = new Lifecycle()
  readonly #paths: ReadonlyMap<string, (response: ServerResponse) => Promise<void>>
  #server: Server | undefined

  constructor(options: MetricsServerOptions) {
    this.#options = options
    this.#paths = new Map([
      ['/metrics', (response) => this.#answerMetrics(response)],
      ['/readyz', (response) => this.#answerReadiness(response)],
      ['/progress', (response) => this.#answerProgress(response)],
    ])
  }

  /** Its address; undefined while it does not listen. */
  get url(): string | undefined {
    const address = this.#server?.address() as AddressInfo | null | undefined
    return address ? `http://${connectableHost(address.address)}:${address.port}/metrics` : undefined
  }

  /** @throws InputError when this machine does not have the address, StartupError when the port is taken */
  start(): Promise<void> {
    return this.#life.start(() => this.#open())
  }

  stop(): Promise<void> {
    return this.#life.stop(async (started) => {
      await started
      await this.#close()
    })
  }

  async #open(): Promise<void> {
    const { host, port, mayMove, log } = this.#options
    const isLocal = isLoopbackHost(host.includes(':') ? `[${host}]` : host)
    const server = createServer((request, response) => {
      if (isLocal && !isLoopbackHost(request.headers.host)) return answer(response, 403, 'only for this machine\n')
      const answers = this.#paths.get(request.url?.split('?')[0] ?? '')
      if (answers === undefined) return answer(response, 404, 'not found\n')
      if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, 405, 'method not allowed\n')
      void answers(response)
    })
    server.requestTimeout = 10_000
    try {
      await listen(server, host, port)
    } catch (error) {
      const problem = hostProblem(error as NodeJS.ErrnoException)
      if (problem !== undefined) throw new InputError(`ADMIN_HOST ${JSON.stringify(host)}: ${problem}`)
      if (!mayMove || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') {
        throw portRefusal({ host, portSetting: 'ADMIN_PORT', port }, error as NodeJS.ErrnoException)
      }
      await listen(server, host, 0)
      log.warn({ port }, 'the port of GET /metrics is taken; it uses another one')
    }
    this.#server = server
    log.info({ url: this.url }, 'metrics are served')
  }

  async #close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }

  async #answerMetrics(response: ServerResponse): Promise<void> {
    try {
      const registry = AggregatorRegistry.aggregate(await this.#options.gather())
      answer(response, 200, await registry.metrics(), registry.contentType)
    } catch (error) {
      this.#options.log.error({ err: error }, 'cannot gather metrics')
      answer(response, 500, 'cannot gather metrics\n')
    }
  }

  async #answerReadiness(response: ServerResponse): Promise<void> {
    const problems = await this.#options.problems()
    if (problems.length === 0) answer(response, 200, 'ready\n')
    else answer(response, 503, problems.map((problem) => `${problem}\n`).join(''))
  }

  async #answerProgress(response: ServerResponse): Promise<void> {
    try {
      const { isStalled, text } = await this.#options.verdict()
      answer(response, isStalled ? 503 : 200, `${text}\n`)
    } catch (error) {
      answer(response, 503, `unknown: ${(error as Error).message}\n`)
    }
  }
}

function answer(response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type }).end(body)
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}
