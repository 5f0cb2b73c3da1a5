import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net'
import type { CleanUp } from './clean-up.ts'

/** The fault applied to bytes in transit. */
type Way = 'through' | 'requests are lost' | 'answers are lost' | { readonly answersLateByMs: number }

/** A proxy for a server, with one fault for all connections at once. */
export class CuttingProxy {
  way: Way = 'through'
  readonly #open = new Set<Socket>()
  #port = 0

  /** The port of the proxy, on 127.0.0.1. */
  get port(): number {
    return this.#port
  }

  async start(target: NetConnectOpts, cleanUp: Pick<CleanUp, 'after'>): Promise<void> {
    const server = createServer((client) => this.#lead(client, connect(target)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#port = (server.address() as AddressInfo).port
    cleanUp.after(() => {
      server.close()
      this.cut()
    })
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#open) socket.destroy()
  }

  #lead(client: Socket, upstream: Socket): void {
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#open.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#open.delete(socket)
        other.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (this.way !== 'requests are lost') upstream.write(bytes)
    })
    const answers = new LateBytes(client)
    upstream.on('data', (bytes) => {
      if (this.way !== 'answers are lost')
        answers.write(bytes, typeof this.way === 'string' ? 0 : this.way.answersLateByMs)
    })
  }
}

/** Writes bytes some time later, in their order. */
class LateBytes {
  readonly #to: Socket
  readonly #waiting: { readonly bytes: Buffer; readonly dueMs: number }[] = []

  constructor(to: Socket) {
    this.#to = to
  }

  write(bytes: Buffer, lateByMs: number): void {
    this.#waiting.push({ bytes, dueMs: performance.now() + lateByMs })
    if (this.#waiting.length === 1) this.#flush()
  }

  #flush(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const leftMs = next.dueMs - performance.now()
      if (leftMs > 0) return void setTimeout(() => this.#flush(), leftMs)
      this.#to.write(next.bytes)
      this.#waiting.shift()
    }
  }
}
