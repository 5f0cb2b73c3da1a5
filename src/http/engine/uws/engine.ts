import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js'
import type { BodyWriter, CreateEngine, EngineRoute, ResponseReader, ResponseWriter } from '../engine.ts'
import { readHead } from '../head.ts'
import { STATUS_LINES } from '../response.ts'
import { UwsBodyWriter } from './body-writer.ts'
import { listen } from './listen.ts'

/** The package, of any version from 20.30 on. */
export type UwsPackage = Pick<
  typeof import('uWebSockets.js'),
  'App' | 'us_listen_socket_close' | 'us_socket_local_port'
>

/**
 * uWebSockets.js. By itself it closes, without a response, a connection that sends less than 160 KiB in about 10 s, one
 * whose client makes no room for 10 s, and one that sends a request before the last was answered.
 *
 * Its parser skips two bytes after the last chunk and reads the rest as a request. A trailer would become one, and a
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

/** It is unknown whether a client reads a head without a body. To bound unread heads, every 256th ends its connection. */
const BARE_HEADS = 256

/**
 * Shared by the responses of an engine. Responses made in a row, as after a commit, are sent in a row afterwards, so that
 * the code that makes them and the code that sends them are each loaded into the processor's caches once.
 */
class Outgoing {
  /** Number of heads sent without a body. */
  bareHeads = 0
  #made: UwsResponseWriter[] = []

  /** Sends it after those made in a row with it: in a microtask. */
  add(writer: UwsResponseWriter): void {
    if (this.#made.push(writer) === 1) queueMicrotask(() => this.#flush())
  }

  #flush(): void {
    const made = this.#made
    this.#made = []
    for (const writer of made) writer.sendMade()
  }
}

/** A response that is made but not sent yet. */
interface Made {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string | Uint8Array
  readonly bodyBytes: number
  readonly close: boolean
  readonly reader: ResponseReader
}

/** Writes the response of a request that uWebSockets.js received. Everything is corked: sent in one packet, if it fits. */
class UwsResponseWriter implements ResponseWriter {
  /** Whether uWebSockets.js has corked it, as it does while it passes on input. */
  isCorked = false
  readonly #response: HttpResponse
  readonly #outgoing: Outgoing
  readonly #lastOfConnection: string | undefined
  #made: Made | undefined

  /** @param lastOfConnection request id when this request is the last of its connection; otherwise undefined */
  constructor(response: HttpResponse, outgoing: Outgoing, lastOfConnection: string | undefined) {
    this.#response = response
    this.#outgoing = outgoing
    this.#lastOfConnection = lastOfConnection
  }

  /** The connection is gone. */
  abort(): void {
    this.#made = undefined
  }

  peerAddress(): string {
    return Buffer.from(this.#response.getRemoteAddressAsText()).toString('latin1')
  }

  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  /**
   * Only `tryEnd` notices a client that does not read, and then holds none of the body. It cannot close the connection: a
   * response that closes is the last one and is held as a whole. Outside of the handler the response is delayed, see
   * `Outgoing`.
   */
  send(
    status: number,
    headers: readonly string[],
    body: string | Uint8Array,
    close: boolean,
    reader: ResponseReader,
  ): boolean {
    const made = { status, headers, body, bodyBytes: Buffer.byteLength(body), close, reader }
    if (this.isCorked) return this.#write(made)
    this.#made = made
    this.#outgoing.add(this)
    return false
  }

  /** Sends the delayed response. */
  sendMade(): void {
    const made = this.#made
    if (made === undefined) return
    this.#made = undefined
    this.#response.cork(() => {
      if (this.#write(made)) made.reader.hasRoom()
    })
  }

  #write(made: Made): boolean {
    const response = this.#response
    const sent = sendWhole(response, made)
    if (!sent) sendRest(response, typeof made.body === 'string' ? Buffer.from(made.body) : made.body, made.reader)
    return sent
  }

  /** With a length, `end` would wait for a body; with close, it would add one. */
  sendBare(status: number, headers: readonly string[], bodyBytes: number | undefined, close: boolean): boolean {
    const response = this.#response
    const ends = close || ++this.#outgoing.bareHeads % BARE_HEADS === 0
    response.cork(() => {
      writeHead(response, status, headers)
      if (bodyBytes !== undefined) response.writeHeader('content-length', String(bodyBytes))
      if (ends) response.writeHeader('connection', 'close\r\n')
      else response.endWithoutBody()
    })
    return !ends
  }

  /**
   * uWebSockets.js has no call for this: ending a response gives it up or closes the connection at once. So the rest is
   * written like part of a header, and the line break that is added counts as the last two bytes of the body.
   */
  sendLingering(status: number, headers: readonly string[], body: string | Uint8Array): void {
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
    const bodyBytes = Buffer.byteLength(text) + 2
    const response = this.#response
    response.cork(() => {
      writeHead(response, status, headers)
      response.writeHeader('connection', `close\r\ncontent-length: ${bodyBytes}\r\n\r\n${text}`)
    })
  }

  stream(status: number, headers: readonly string[], reader: ResponseReader): BodyWriter {
    const response = this.#response
    const body = new UwsBodyWriter(response, reader, this.#lastOfConnection)
    const all = this.#lastOfConnection === undefined ? headers : [...headers, 'connection', 'close']
    response.cork(() => writeHead(response, status, all))
    return body
  }

  /**
   * uWebSockets.js closes a connection without room for 10 s. Pausing and resuming its reading restarts that time, and
   * keeps watching for room.
   */
  keepOpen(): void {
    this.#response.pause()
    this.#response.resume()
  }

  cutOff(): void {
    this.#response.close()
  }
}

/** Writes all headers as one, because each call of uWebSockets.js costs as much as several lines of text. */
function writeHead(response: HttpResponse, status: number, headers: readonly string[]): void {
  if (status !== 200) response.writeStatus(STATUS_LINES[status] ?? String(status))
  if (headers.length === 0) return
  let lines = headers[1]!
  for (let i = 2; i < headers.length; i += 2) lines += `\r\n${headers[i]}: ${headers[i + 1]}`
  response.writeHeader(headers[0]!, lines)
}

/** Returns whether the client has room for everything. */
function sendWhole(response: HttpResponse, { status, headers, body, bodyBytes, close }: Made): boolean {
  writeHead(response, status, headers)
  if (!close) return response.tryEnd(body, bodyBytes)[1]
  response.end(body, true)
  return true
}

function sendRest(response: HttpResponse, body: Uint8Array, reader: ResponseReader): void {
  response.onWritable((offset) => {
    const [taken, sent] = response.tryEnd(body.subarray(offset), body.length)
    reader.moved()
    if (sent) reader.hasRoom()
    return taken
  })
}
