import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ArrivedRequest, RequestReceiver } from '../engine.ts'
import { type HeaderLines, readHead } from '../head.ts'
import { type Refusal, refusalText } from './refusal.ts'
import { NodeResponseWriter } from './response-writer.ts'
import type { FindRoute, Found } from './router.ts'

/** Requests that may wait for earlier ones on a connection; more of them end it. */
const WAITING_MAX = 100
/**
 * After a refusal, read and drop at most this many bytes, for at most this many milliseconds, so that the client sees the
 * refusal.
 */
const DISCARD_MAX_BYTES = 16 * 2 ** 20
const DISCARD_MS = 2_000

const NOTHING = Buffer.alloc(0)

/** A request that waits for its turn or has it. */
interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly found: Found
}

/**
 * One connection and its requests, handled one after the other in order. Node.js passes on pipelined requests as fast as it
 * parses them, so those that cannot begin wait here.
 */
export class Connection {
  readonly #socket: Socket
  readonly #waiting: Turn[] = []
  #current: Turn | undefined
  #receiver: RequestReceiver | undefined
  /** The refusal to send when all earlier requests are answered. Later requests are not begun. */
  #refusal: Refusal | undefined
  #dropped = 0
  /** `bytesRead` of the socket when dropping began. */
  #droppedFromBytes: number | undefined
  #deadline: NodeJS.Timeout | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.once('close', () => this.#closed())
    // A client that ends its side may be waiting for the answer. To one without an end it has no reason to listen on.
    socket.once('end', () => {
      const response = this.#current?.response
      if (/^text\/event-stream/.test(String(response?.getHeader('content-type')))) socket.destroy()
    })
  }

  /** Begins a request when those before it are answered. A request without a route ends the connection. */
  take(request: IncomingMessage, response: ServerResponse, find: FindRoute): void {
    // Errors of a closed connection do not matter: `close` reports its end.
    request.on('error', ignore)
    response.on('error', ignore)
    if (this.#refusal !== undefined) {
      if (++this.#dropped > WAITING_MAX) this.#socket.destroy()
      else this.#drop(request)
      return
    }
    const found = find(request.method ?? '', request.url ?? '')
    if (found === undefined) {
      this.#socket.destroy()
      return
    }
    const turn = { request, response, found }
    if (this.#current === undefined) this.#begin(turn)
    else if (this.#waiting.push(turn) > WAITING_MAX) this.#socket.destroy()
  }

  /** Answers a request that must not reach a route, as `refuse` does. */
  refuseRequest(request: IncomingMessage, refusal: Refusal): void {
    this.refuse(refusal)
    this.#drop(request)
  }

  /** Answers invalid input when all requests before it are answered, and ends the connection. */
  refuse(refusal: Refusal): void {
    this.#noteDropped()
    // Once the parser has failed, it fails for all later input too.
    if (this.#refusal !== undefined || !this.#socket.writable) return
    this.#refusal = refusal
    const current = this.#current
    if (current === undefined) {
      this.#end(refusalText(refusal))
    } else if (!current.request.complete && !current.response.writableEnded) {
      // The parser failed in the body of this request.
      this.#abort()
      this.#end(current.response.headersSent ? '' : refusalText(refusal))
    }
  }

  #begin(turn: Turn): void {
    const { request, response, found } = turn
    this.#current = turn
    response.once('finish', () => this.#finished(response))
    const head = readHead(linesOf(request))
    const arrived: ArrivedRequest = {
      head,
      parameters: found.parameters,
      query: found.query,
      closes: !response.shouldKeepAlive,
      isLast: false,
      isAnsweredLater: false,
    }
    const receiver = found.route.arrived(arrived, new NodeResponseWriter(request, response))
    this.#receiver = receiver
    if (head.hasBody) {
      // The request may pass on more bytes that were read before the connection ended.
      const receive = (chunk: Buffer, last: boolean) => {
        if (!this.#socket.destroyed) receiver.receive(chunk, last)
      }
      request.on('data', (chunk: Buffer) => receive(chunk, false))
      request.once('end', () => receive(NOTHING, true))
    }
    receiver.start()
  }

  /** In a turn of its own, so that one connection does not delay the others. */
  #finished(response: ServerResponse): void {
    if (!response.shouldKeepAlive) {
      this.#waiting.length = 0
      return
    }
    setImmediate(() => {
      if (this.#socket.destroyed) return
      this.#current = undefined
      this.#receiver = undefined
      const refusal = this.#refusal
      const next = this.#waiting.shift()
      // A partial request may follow the last readable one.
      if (next !== undefined && (refusal === undefined || next.request.complete)) this.#begin(next)
      else if (refusal !== undefined) this.#end(refusalText(refusal))
    })
  }

  /** Ends the connection after everything written and `text`. */
  #end(text: string): void {
    const socket = this.#socket
    this.#waiting.length = 0
    this.#deadline ??= setTimeout(() => socket.destroy(), DISCARD_MS)
    socket.end(text)
  }

  /** Reads and drops the body of a request that no route answers. */
  #drop(request: IncomingMessage): void {
    request.on('error', ignore)
    request.on('data', () => this.#noteDropped())
  }

  #noteDropped(): void {
    const { bytesRead } = this.#socket
    this.#droppedFromBytes ??= bytesRead
    if (bytesRead - this.#droppedFromBytes > DISCARD_MAX_BYTES) this.#socket.destroy()
  }

  #closed(): void {
    clearTimeout(this.#deadline)
    this.#waiting.length = 0
    this.#abort()
  }

  #abort(): void {
    const receiver = this.#receiver
    this.#receiver = undefined
    receiver?.abort()
  }
}

function linesOf({ rawHeaders }: IncomingMessage): HeaderLines {
  return {
    forEach(line) {
      for (let i = 0; i < rawHeaders.length; i += 2) line(rawHeaders[i]!.toLowerCase(), rawHeaders[i + 1]!)
    },
  }
}

function ignore(): void {}
