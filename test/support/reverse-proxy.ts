import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What becomes of a request. */
export type Passage =
  /** It is passed on, and so is its answer. */
  | 'open'
  /** It is answered 500 and not passed on. */
  | 'failing'
  /** It is passed on, and answered 500 after it has been answered: its sender has to repeat what is stored. */
  | 'answers lost'

export interface PassedRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly origin: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** As the sender saw it. */
  readonly status: number
}

/** A reverse proxy as sites have one in front: it says for whom it asks. */
export interface ReverseProxy {
  readonly url: string
  readonly requests: PassedRequest[]
  /** The address of all visitors, for `X-Forwarded-For`. */
  visitor: string
  passage: Passage
}

/** @param target URL of the server; called for each request, since a server may come back elsewhere */
export async function startReverseProxy(
  t: { after(hook: () => void): void },
  target: () => string,
): Promise<ReverseProxy> {
  const requests: PassedRequest[] = []
  const server = createServer(async (incoming, outgoing) => {
    try {
      const body = await bodyOf(incoming)
      const passage = proxy.passage
      const answer = passage === 'failing' ? undefined : await pass(incoming, body)
      const status = passage === 'open' ? answer!.status : 500
      const { method = '', url = '', headers } = incoming
      requests.push({ method, path: url, origin: headers.origin, headers, body, status })
      if (passage === 'open') outgoing.writeHead(status, answer!.headers).end(answer!.body)
      else refuse(incoming, outgoing)
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
    if (body.length > 0) outgoing.setHeader('content-length', body.length)
    const answered = once(outgoing.end(body), 'response') as Promise<[IncomingMessage]>
    const [answer] = await answered
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
    passage: 'open',
  }
  return proxy
}

/** With CORS, so that a browser shows the status to its page. */
function refuse({ headers: { origin } }: IncomingMessage, outgoing: ServerResponse): void {
  const cors =
    origin === undefined ? {} : { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' }
  outgoing.writeHead(500, cors).end('{"detail":"the proxy fails"}')
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
