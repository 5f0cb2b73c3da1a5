import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from './until.ts'

/** The fate of a request. */
export type Passage =
  /** It is passed on, and so is its answer. */
  | 'open'
  /** It is answered with this status and not passed on. */
  | 500
  | 429
  /** Its connection is cut off. */
  | 'cut'
  /** It is passed on, and answered 500 after it has been answered: its sender has to repeat stored events. */
  | 'answer lost'
  /** It is passed on once `lasting` is something else. */
  | 'held'

export interface PassedRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly origin: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** As the sender saw it; 0: it got no answer. */
  readonly status: number
}

/** A reverse proxy as sites have one in front: it says for whom it asks. */
export interface ReverseProxy {
  readonly url: string
  readonly requests: PassedRequest[]
  /** The address of all visitors, for `X-Forwarded-For`. */
  visitor: string
  /** The fate of the next requests, one each; after them `lasting` applies. Preflights always pass. */
  readonly next: Passage[]
  lasting: Passage
}

/** @param target URL of the server; called for each request, since a server may come back elsewhere */
export async function startReverseProxy(
  t: { after(hook: () => void): void },
  target: () => string,
): Promise<ReverseProxy> {
  const requests: PassedRequest[] = []
  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const passage = method === 'OPTIONS' ? 'open' : (proxy.next.shift() ?? proxy.lasting)
    incoming.on('error', () => {})
    outgoing.on('error', () => {})
    try {
      const body = await bodyOf(incoming)
      const record = (status: number) =>
        requests.push({ method, path: url, origin: headers.origin, headers, body, status })
      if (passage === 'held') {
        record(0)
        await until(() => proxy.lasting !== 'held')
        await pass(incoming, body)
        outgoing.destroy()
      } else if (passage === 'open') {
        const answer = await pass(incoming, body)
        record(answer.status)
        outgoing.writeHead(answer.status, answer.headers).end(answer.body)
      } else {
        if (passage === 'answer lost') await pass(incoming, body)
        record(passage === 429 ? 429 : passage === 'cut' ? 0 : 500)
        if (passage === 'cut') outgoing.destroy()
        else refuse(incoming, outgoing, passage === 429 ? 429 : 500)
      }
    } catch {
      outgoing.destroy()
    }
  })
  const pass = async (incoming: IncomingMessage, body: Buffer) => {
    const { host: _host, 'transfer-encoding': _coding, ...headers } = incoming.headers
    const { hostname, port } = new URL(target())
    const outgoing = request({
      ...{ hostname, port, method: incoming.method, path: incoming.url, agent: false },
      headers: { ...headers, host: incoming.headers.host, 'x-forwarded-for': proxy.visitor, connection: 'close' },
    })
    // A connection may also break after the first error.
    outgoing.on('error', () => {})
    if (body.length > 0) outgoing.setHeader('content-length', body.length)
    const answered = once(outgoing.end(body), 'response') as Promise<[IncomingMessage]>
    const [answer] = await answered
    answer.on('error', () => {})
    return { status: answer.statusCode!, headers: answer.headers, body: await bodyOf(answer) }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const proxy: ReverseProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    visitor: '127.0.0.1',
    next: [],
    lasting: 'open',
  }
  return proxy
}

/** With CORS, so that a browser shows the status to its page. */
function refuse({ headers: { origin } }: IncomingMessage, outgoing: ServerResponse, status: number): void {
  const cors =
    origin === undefined ? {} : { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' }
  outgoing.writeHead(status, cors).end('{"detail":"the proxy fails"}')
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
