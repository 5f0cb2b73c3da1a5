import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** The fault of a connection. */
export type Fault =
  /** No fault: it passes through. */
  | 'none'
  /** It is reset after the client has sent this many bytes. */
  | { readonly cutAfterBytes: number }
  /** Its answer is cut after this many bytes; 0: it is lost. */
  | { readonly cutAnswerAfterBytes: number }
  /** Its request is answered 503. */
  | 'busy'
  /** It is accepted, and gets no answer. */
  | 'silent'

/** A proxy for a server on 127.0.0.1 that applies a fault to each connection. */
export interface FaultyProxy {
  readonly url: string
  /** Faults of the next connections, one each; after them `lasting` applies. */
  readonly faults: Fault[]
  lasting: Fault
  /** Connections so far. */
  readonly connections: number
}

type Cuts = { readonly cutAfterBytes: number; readonly cutAnswerAfterBytes: number }

const BUSY = 'HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'

/** @param target URL of the server */
export async function startFaultyProxy(t: TestContext, target: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  let connections = 0
  const server = createServer((client) => {
    connections++
    open.add(client.on('error', () => {}))
    const fault = proxy.faults.shift() ?? proxy.lasting
    if (fault === 'silent') return void client.resume()
    if (fault === 'busy') return void client.once('data', () => client.end(BUSY))
    const upstream = connect(Number(port), hostname).on('error', () => client.destroy())
    open.add(upstream)
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    const { cutAfterBytes = Infinity, cutAnswerAfterBytes = Infinity }: Partial<Cuts> = fault === 'none' ? {} : fault
    let sent = 0
    client.on('data', (bytes) => {
      sent += bytes.length
      if (sent >= cutAfterBytes) client.resetAndDestroy()
      else upstream.write(bytes)
    })
    upstream.on('end', () => client.end())
    let answered = 0
    upstream.on('data', (bytes) => {
      answered += bytes.length
      if (answered < cutAnswerAfterBytes) return void client.write(bytes)
      client.write(bytes.subarray(0, bytes.length - (answered - cutAnswerAfterBytes)), () => client.destroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  const proxy: { -readonly [K in keyof FaultyProxy]: FaultyProxy[K] } = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults: [],
    lasting: 'none',
    get connections() {
      return connections
    },
  }
  return proxy
}
