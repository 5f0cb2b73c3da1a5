import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ArrivedRequest, RequestReceiver } from '../engine.ts'
import { type HeaderLines, readHead } from '../head.ts'
import { type Refusal, refusalText } from './refusal.ts'
import { NodeResponseWriter } from './response-writer.ts'
import type { FindRoute, Found } from './router.ts'

/** Requests that may wait behind one that is not answered yet; with more of them the connection ends. */
const WAITING_MAX = 100
/** Behind a refusal so much is read and dropped, bytes, for so long, milliseconds, so that the client sees it. */
const DISCARD_MAX_BYTES = 1_048_576
const DISCARD_MS = 2_000

const NOTHING = Buffer.alloc(0)

/** A request that waits for its turn, or has it. */
interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly found: Found
}

/**
 * One connection and its requests, one after the other, as they came. Node.js hands over what was pipelined as fast as it
 * parses it, so what cannot be begun waits here.
 */
export class Connection {
  readonly #socket: Socket
  readonly #waiting: Turn[] = []
  #current: Turn | undefined
  #receiver: RequestReceiver | undefined
  /** What is to be said when all that came before is answered. What comes behind it is not begun. */
  #refusal: Refusal | undefined
  #dropped = 0
  /** Of the socket, when the refusal went out; undefined before. */
  #refusedAtBytes: number | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.once('close', () => this.#closed())
  }

  /** Begins a request, when those before it are answered. One without a route ends the connection. */
  take(request: IncomingMessage, response: ServerResponse, find: FindRoute): void {
    // What is written to a connection that is gone is of no interest: `close` tells.
    request.on('error', ignore)
    response.on('error', ignore)
    if (this.#refusal !== undefined) {
      if (++this.#dropped > WAITING_MAX) this.#socket.destroy()
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

  /** Answers what is no request, when all that came before it is answered, and ends the connection. */
  refuse(refusal: Refusal): void {
    if (this.#refusedAtBytes !== undefined) {
      if (this.#socket.bytesRead - this.#refusedAtBytes > DISCARD_MAX_BYTES) this.#socket.destroy()
      return
    }
    this.#refusal ??= refusal
    const current = this.#current
    if (current === undefined) {
      this.#sendRefusal(refusal)
    } else if (!current.request.complete) {
      // It is the body of this one that cannot be read.
      this.#receiver?.abort()
      if (current.response.headersSent) this.#socket.destroy()
      else this.#sendRefusal(refusal)
    }
  }

  #begin(turn: Turn): void {
    const { request, response, found } = turn
    this.#current = turn
    response.once('finish', () => this.#finished(response))
    const head = readHead(linesOf(request))
    const arrived: ArrivedRequest = {
      head,
      parameter: found.parameter,
      query: found.query,
      closes: !response.shouldKeepAlive,
    }
    const receiver = found.route.arrived(arrived, new NodeResponseWriter(request, response))
    this.#receiver = receiver
    if (head.hasBody) {
      request.on('data', (chunk: Buffer) => receiver.receive(chunk, false))
      request.once('end', () => receiver.receive(NOTHING, true))
    }
    receiver.start()
  }

  /** In a turn of its own, so that one connection does not keep the others waiting. */
  #finished(response: ServerResponse): void {
    if (!response.shouldKeepAlive) {
      this.#waiting.length = 0
      return
    }
    setImmediate(() => {
      this.#current = undefined
      this.#receiver = undefined
      const next = this.#waiting.shift()
      if (this.#socket.destroyed) return
      if (next !== undefined) this.#begin(next)
      else if (this.#refusal !== undefined) this.#sendRefusal(this.#refusal)
    })
  }

  #sendRefusal(refusal: Refusal): void {
    const socket = this.#socket
    this.#refusedAtBytes = socket.bytesRead
    socket.setTimeout(DISCARD_MS, () => socket.destroy())
    socket.end(refusalText(refusal))
  }

  #closed(): void {
    this.#waiting.length = 0
    this.#receiver?.abort()
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
