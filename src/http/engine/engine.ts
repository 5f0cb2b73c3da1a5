import type { RequestHead } from './head.ts'

/*
 * What an HTTP engine is to the rest: it accepts connections, reads requests, writes responses. All else (deadlines,
 * limits, what is held in memory, whether a connection lingers, draining, metrics) is decided outside of it, once for
 * every engine. It never reads a body faster than it is told to, and buffers nothing without a limit.
 */

/** Makes an engine, which then listens. */
export type CreateEngine = (routes: readonly EngineRoute[]) => Engine

/** An engine listens once: for another time it is created anew. */
export interface Engine {
  /**
   * Accepts connections from then on. Resolves with the port.
   * @param share other processes of this user may listen on the same port, and then share its connections
   * @throws StartupError that says why not
   */
  listen(address: ListenAddress, share: boolean): Promise<number>
  /** No connection is accepted any more; those that are open go on. */
  stopListening(): void
  /** Ends all connections at once, whatever they do. */
  close(): void
}

/** Where a server is to listen, and the settings that say so. */
export interface ListenAddress {
  readonly host: string
  /** 0: any free one, which is never shared. */
  readonly port: number
  readonly hostSetting: string
  readonly portSetting: string
}

/** What requests an engine hands over to whom. Of several routes the one that names the method and the path wins. */
export interface EngineRoute {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'OPTIONS' | 'any'
  /** Segments like `:job_id` stand for any one; `/*` for every path. */
  readonly path: string
  /**
   * A request has arrived, and its body has not. The engine calls `start` once when it is ready to pass body and abort
   * on, in the same turn.
   */
  arrived(request: ArrivedRequest, response: ResponseWriter): RequestReceiver
}

/** The header section of a request. */
export interface ArrivedRequest {
  readonly head: RequestHead
  /** Parameters of the path in their order, undecoded. */
  readonly parameters: readonly string[]
  /** What follows `?`, undecoded. */
  readonly query: string
  /** Whether the engine closes the connection behind the response, for the client asked for it. */
  readonly closes: boolean
  /**
   * Whether the engine cannot tell where this request ends, so that what follows it is not to be trusted. The connection
   * ends with the response, and no second request on it is answered.
   */
  readonly isLast: boolean
}

/** Takes what follows a header section. */
export interface RequestReceiver {
  start(): void
  /**
   * Takes bytes of the body as they arrive, unless it is paused, until the connection has ended; also those that nobody
   * wants, and those behind the response. They are copied: the memory may be used again afterwards.
   */
  receive(chunk: ArrayBuffer | Uint8Array, last: boolean): void
  /** The connection is gone, for whatever reason. Nothing of its `ResponseWriter` may be called any more. */
  abort(): void
}

/**
 * The way back of one request. One of `send`, `sendBare`, `sendLingering` and `stream` is called, once. A writer that is
 * given up must not be called any more. Until then the connection processes no other request.
 * Headers are a list of name, value, name, value; names in lower case.
 */
export interface ResponseWriter {
  /** Address of the other end of the connection, in any spelling. */
  peerAddress(): string
  /** The body is not read any more until `resume`. */
  pause(): void
  resume(): void
  /**
   * Returns whether all of it is sent: the writer is then given up. Else `hasRoom` of the reader gives it up, behind this call:
   * the engine may put a response off, to write several in a row, or wait for room.
   * @param body not empty
   * @param close the connection ends with the response, which says so
   */
  send(
    status: number,
    headers: readonly string[],
    body: string | Uint8Array,
    close: boolean,
    reader: ResponseReader,
  ): boolean
  /**
   * Sends a head alone, as for HEAD. Returns whether the writer is given up. Else the head says that the connection ends
   * with it, for `close` or for a reason of the engine: `cutOff` is to be called in a later turn.
   * @param bodyBytes length of the body that is left out; undefined: is not told
   */
  sendBare(status: number, headers: readonly string[], bodyBytes: number | undefined, close: boolean): boolean
  /**
   * Sends a response that says that the connection ends with it, and leaves it open: the body of the request arrives
   * further, until `cutOff`.
   */
  sendLingering(status: number, headers: readonly string[], body: string | Uint8Array): void
  /** Sends a head, behind which the body follows piece by piece, of a length that is not told. */
  stream(status: number, headers: readonly string[], reader: ResponseReader): BodyWriter
  /** Keeps a connection open on which there is no room; to be called at least every few seconds while that is wanted. */
  keepOpen(): void
  /** Ends the connection at once. What was sent in this turn, or is not on its way, may be lost. */
  cutOff(): void
}

/** Is told how the client takes a response. */
export interface ResponseReader {
  /** The client has taken something. */
  moved(): void
  /** Nothing is held that was written. Comes once after each `send` or `write` that says so, never within that. */
  hasRoom(): void
}

/** The body of a response on its way out. */
export interface BodyWriter {
  /** Takes a piece; sends nothing yet. */
  add(text: string): void
  /**
   * Sends some of what was added:
   * - `more`: something was sent; call again, but give other requests their turn first;
   * - `full`: something was sent, and the client does not read as fast; wait for `hasRoom`;
   * - `none`: nothing is to be sent before more is added.
   * @param rest no more will be added: what is left is sent, however little
   */
  write(rest: boolean): 'more' | 'full' | 'none'
  /**
   * Ends the response, after a `write` of the rest that had none. Returns whether the writer is given up. Else the
   * connection ends with this response: `cutOff` is to be called when the client has had time to read it.
   */
  end(): boolean
}
