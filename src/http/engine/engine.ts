import type { RequestHead } from './head.ts'

/*
 * The interface of an HTTP engine: it accepts connections, reads requests and writes responses. Everything else (deadlines,
 * limits, memory, lingering, draining, metrics) is decided outside, once for all engines. An engine reads a body no faster
 * than it is allowed to, and buffers nothing without a limit.
 */

/** Makes an engine, which then listens. */
export type CreateEngine = (routes: readonly EngineRoute[], options?: EngineOptions) => Engine

export interface EngineOptions {
  /** How long a connection waits for its next request. Default: the engine's own. `chooseEngine` chooses one that can do it. */
  readonly idleMs?: number | undefined
}

/** An engine listens once. Create a new one to listen again. */
export interface Engine {
  /**
   * Starts to accept connections. Resolves with the port.
   * @param share whether other processes of this user may listen on the same port and share its connections
   * @throws StartupError with the reason when it cannot listen
   */
  listen(address: ListenAddress, share: boolean): Promise<number>
  /** Stops accepting connections; open ones continue. */
  stopListening(): void
  /** Ends all connections at once, in any state. */
  close(): void
}

/** The address to listen on, and the settings it comes from. */
export interface ListenAddress {
  readonly host: string
  /** 0: any free port, which is never shared. */
  readonly port: number
  readonly hostSetting: string
  readonly portSetting: string
}

/** The handler of requests of a method and path. The most specific route wins. */
export interface EngineRoute {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'OPTIONS' | 'any'
  /** Segments like `:job_id` match any one segment; `/*` matches every path. */
  readonly path: string
  /**
   * Called when the header section of a request has arrived and its body has not. The engine calls `start` once, in the
   * same turn, when it is ready to pass on body and abort.
   */
  arrived(request: ArrivedRequest, response: ResponseWriter): RequestReceiver
}

/** The header section of a request. */
export interface ArrivedRequest {
  readonly head: RequestHead
  /** Parameters of the path in their order, undecoded. */
  readonly parameters: readonly string[]
  /** The text after `?`, undecoded. */
  readonly query: string
  /** Whether the engine closes the connection after the response, because the client asked for it. */
  readonly closes: boolean
  /**
   * Whether the engine cannot tell where this request ends, so that later bytes are not to be trusted. The connection ends
   * with the response, and no second request on it is answered.
   */
  readonly isLast: boolean
  /**
   * Whether the engine would take bytes after this request for another one, although they may be its body, or must not be answered. The
   * response is then sent in a later turn: the engine ends the connection when more bytes arrive before it.
   */
  readonly isAnsweredLater: boolean
}

/** Receives everything after the header section. */
export interface RequestReceiver {
  start(): void
  /**
   * Receives bytes of the body as they arrive, unless paused, until the connection ends. This includes unwanted bytes and
   * bytes after the response. The receiver copies them, because the memory is reused.
   */
  receive(chunk: ArrayBuffer | Uint8Array, last: boolean): void
  /** The connection is gone, for any reason. Do not call its `ResponseWriter` any more. */
  abort(): void
}

/**
 * Writes the response of one request. Call exactly one of `send`, `sendBare`, `sendLingering` and `stream`, once. Do not
 * call a writer any more once it is given up. Until then the connection processes no other request. Headers are a list of
 * name, value, name, value; names in lower case.
 */
export interface ResponseWriter {
  /** Address of the other end of the connection, in any spelling. */
  peerAddress(): string
  /** Stops reading the body until `resume`. */
  pause(): void
  resume(): void
  /**
   * Returns whether everything is sent: the writer is then given up. Otherwise `hasRoom` of the reader gives it up after
   * this call, because the engine may delay a response to write several in a row, or wait for room.
   * @param body not empty
   * @param close ends the connection with the response, which says so
   */
  send(
    status: number,
    headers: readonly string[],
    body: string | Uint8Array,
    close: boolean,
    reader: ResponseReader,
  ): boolean
  /**
   * Sends a head alone, as for HEAD. Returns whether the writer is given up. Otherwise the head says that the connection
   * ends with it, because of `close` or for a reason of the engine: call `cutOff` in a later turn.
   * @param bodyBytes length of the omitted body; undefined: the head has no length
   */
  sendBare(status: number, headers: readonly string[], bodyBytes: number | undefined, close: boolean): boolean
  /**
   * Sends a response that announces the end of the connection, but leaves it open: the body of the request keeps arriving
   * until `cutOff`.
   */
  sendLingering(status: number, headers: readonly string[], body: string | Uint8Array): void
  /** Sends a head. The body follows in pieces, without an announced length. */
  stream(status: number, headers: readonly string[], reader: ResponseReader): BodyWriter
  /** Keeps a connection open whose client makes no room. Call it at least every few seconds. */
  keepOpen(): void
  /** Ends the connection at once. Data of this turn, or data not sent yet, may be lost. */
  cutOff(): void
}

/** Learns how the client reads a response. */
export interface ResponseReader {
  /** The client has read something. */
  moved(): void
  /** All written data is sent. Called once after each `send` or `write` that says so, never within that call. */
  hasRoom(): void
}

/** Writes the body of a response. */
export interface BodyWriter {
  /** Adds a piece; sends nothing yet. */
  add(text: string): void
  /**
   * Sends part of the added text:
   * - `more`: call again, but give other requests their turn first;
   * - `full`: the client reads too slowly; wait for `hasRoom`;
   * - `none`: add more text first.
   * @param rest no more text follows: send all that is left
   */
  write(rest: boolean): 'more' | 'full' | 'none'
  /**
   * Ends the response. Call it after a `write` of the rest returned `none`. Returns whether the writer is given up.
   * Otherwise the connection ends with this response: call `cutOff` after the client had time to read it.
   */
  end(): boolean
}
