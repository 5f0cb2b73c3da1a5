import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js'
import type { CreateEngine, EngineRoute } from '../engine.ts'
import { readHead } from '../head.ts'
import { listen } from './listen.ts'
import { Outgoing, UwsResponseWriter } from './response-writer.ts'

/** The package, of any version from 20.30 on. */
export type UwsPackage = Pick<
  typeof import('uWebSockets.js'),
  'App' | 'us_listen_socket_close' | 'us_socket_local_port'
>

/**
 * uWebSockets.js. By itself it closes, without a response, a connection that sends less than 160 KiB in about 10 s, one
 * whose client makes no room for 10 s, and one that sends a request before the last was answered.
 *
 * Its parser skips two bytes after the last chunk and reads what follows as a request. A trailer would become one, and a
 * proxy would pass its response to another client. So a chunked request is the last of its connection: its response never
 * ends the request for uWebSockets.js, which closes the connection when anything else arrives.
 *
 * It ends the header section at a header without a name. It then misses a length after it, and would read the body as a
 * request. So a request without a length where one is usual is the last of its connection too. A GET without a length is answered in
 * a later turn, so that bytes in the same packet end the connection. So is a request that ends its connection: uWebSockets.js would
 * answer another one in the same packet.
 */
export const uwsEngine =
  (uWS: UwsPackage): CreateEngine =>
  (routes) => {
    const app = uWS.App()
    const outgoing = new Outgoing()
    for (const route of routes) app[METHODS[route.method]](route.path, handlerOf(route, outgoing))
    let socket: us_listen_socket | undefined
    return {
      async listen(address, share) {
        socket = await listen(app, address, share)
        return uWS.us_socket_local_port(socket)
      },
      stopListening() {
        if (socket !== undefined) uWS.us_listen_socket_close(socket)
        socket = undefined
      },
      close() {
        app.close()
      },
    }
  }

const METHODS = { GET: 'get', HEAD: 'head', POST: 'post', OPTIONS: 'options', any: 'any' } as const

/** Methods whose requests usually announce a length, as uWebSockets.js spells them. */
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['post', 'put', 'patch', 'delete'])

const NONE: readonly string[] = []

/** Listeners must be set before the handler returns, because the request is invalid afterwards. */
function handlerOf(route: EngineRoute, outgoing: Outgoing): (response: HttpResponse, request: HttpRequest) => void {
  const count = route.path.split('/').filter((segment) => segment.startsWith(':')).length
  return (response, request) => {
    const head = readHead(request)
    const hasLength = head.contentLength !== undefined || !METHODS_WITH_BODY.has(request.getMethod())
    const isLast = head.isChunked || !hasLength
    // It takes every value of five characters for `close`.
    const closes = head.connection.length === 5
    const arrived = {
      head,
      parameters: count === 0 ? NONE : Array.from({ length: count }, (_, i) => request.getParameter(i) ?? ''),
      query: request.getQuery() ?? '',
      closes,
      isLast,
      isAnsweredLater: closes || !head.hasBody,
    }
    const writer = new UwsResponseWriter(response, outgoing, isLast ? head.requestId : undefined)
    const receiver = route.arrived(arrived, writer)
    response.onAborted(() => {
      writer.abort()
      receiver.abort()
    })
    if (head.hasBody) {
      response.onData((chunk, last) => {
        writer.isCorked = true
        receiver.receive(chunk, last)
        writer.isCorked = false
      })
    }
    writer.isCorked = true
    receiver.start()
    writer.isCorked = false
  }
}
