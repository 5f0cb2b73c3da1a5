import { connect, type Socket } from 'node:net'

export interface SteadyResult {
  /** By path: milliseconds from the due time of a request to the end of its response, ascending. */
  readonly latencies: ReadonlyMap<string, readonly number[]>
  /** The longest time without a response, milliseconds. */
  readonly longestGapMs: number
  /** Number of failed requests by status, or by error of the connection. */
  readonly failures: ReadonlyMap<string, number>
}

export interface SteadyLoad {
  /** Waits for requests in flight. */
  stop(): Promise<SteadyResult>
}

interface SteadyOptions {
  readonly url: string
  readonly apiKey: string
  readonly requestsPerSecond: number
  readonly connections: number
  /** The next request. */
  readonly next: (n: number) => { readonly path: string; readonly body: string }
}

/**
 * Sends requests at a fixed rate over keep-alive connections, one at a time on each, until it is stopped. Latency counts from
 * the due time of a request, so it includes the wait during a stall of the server.
 */
export function startSteadyLoad(options: SteadyOptions): SteadyLoad {
  const { connections, requestsPerSecond } = options
  const latencies = new Map<string, number[]>()
  const failures = new Map<string, number>()
  const fail = (what: string) => void failures.set(what, (failures.get(what) ?? 0) + 1)
  const everyMs = (1_000 * connections) / requestsPerSecond
  const startedMs = performance.now()
  let isStopped = false
  let sent = 0
  let lastAnswerMs = startedMs
  let longestGapMs = 0
  const answered = (path: string, status: number, dueMs: number) => {
    const nowMs = performance.now()
    longestGapMs = Math.max(longestGapMs, nowMs - lastAnswerMs)
    lastAnswerMs = nowMs
    if (!latencies.has(path)) latencies.set(path, [])
    latencies.get(path)!.push(nowMs - dueMs)
    if (status !== 200) fail(String(status))
  }
  const run = async (connection: number) => {
    let socket: Connection | undefined
    for (let turn = 0; !isStopped; turn++) {
      const dueMs = startedMs + everyMs * (turn + connection / connections)
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())))
      const { path, body } = options.next(sent++)
      try {
        socket ??= await Connection.open(options)
        answered(path, await socket.send(path, body), dueMs)
      } catch (error) {
        fail((error as Error).message)
        socket = undefined
      }
    }
    socket?.close()
  }
  const all = Promise.all(Array.from({ length: connections }, (_, i) => run(i)))
  return {
    async stop() {
      isStopped = true
      await all
      for (const values of latencies.values()) values.sort((a, b) => a - b)
      return { latencies, longestGapMs, failures }
    },
  }
}

class Connection {
  readonly #socket: Socket
  readonly #head: string
  #pending = ''
  #settle: { resolve(status: number): void; reject(error: Error): void } | undefined

  private constructor(socket: Socket, hostname: string, apiKey: string) {
    this.#socket = socket
    this.#head = ` HTTP/1.1\r\nhost: ${hostname}\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\n`
    socket.setEncoding('latin1')
    socket.on('data', (data: string) => this.#read(data))
    socket.on('error', (error) => this.#settle?.reject(error))
    socket.on('close', () => this.#settle?.reject(new Error('the connection was closed')))
  }

  static open({ url, apiKey }: Pick<SteadyOptions, 'url' | 'apiKey'>): Promise<Connection> {
    const { hostname, port } = new URL(url)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      socket.setNoDelay(true)
      socket.once('error', reject)
      socket.once('connect', () => resolve(new Connection(socket, hostname, apiKey)))
    })
  }

  /** @returns the status after the complete response */
  send(path: string, body: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#socket.write(`POST ${path}${this.#head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    })
  }

  close(): void {
    this.#settle = undefined
    this.#socket.destroy()
  }

  #read(data: string): void {
    this.#pending += data
    const head = this.#pending.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: (\d+)/i.exec(this.#pending.slice(0, head))?.[1] ?? 0)
    if (this.#pending.length < head + 4 + length) return
    const status = Number(this.#pending.slice(9, 12))
    this.#pending = ''
    this.#settle?.resolve(status)
    this.#settle = undefined
  }
}
