import type { ArrivedRequest, BodyWriter, ResponseReader, ResponseWriter } from './engine.ts'
import type { Limit } from './http-error.ts'
import type { HttpLimits } from './limits.ts'

/** A response before any of it is sent. */
export interface HttpResponse {
  readonly status: number
  /**
   * Text in pieces is sent chunked, no faster than the client reads. A failure before the first piece is answered like any
   * other; a later one cuts the connection off, so that the client does not take the response for complete.
   */
  readonly body: string | Uint8Array | AsyncIterable<string>
  /** Default `application/json; charset=utf-8`. */
  readonly type?: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sends each piece at once, however small, because the client waits for it. */
  readonly flush?: boolean
  /** The connection ends with the response. */
  readonly close?: boolean
  /**
   * Delays the response until this resolves; a rejection is answered as a failure. Cheaper than a promise of the response.
   */
  readonly after?: Promise<unknown>
}

/**
 * Maps any failure to a response; an `HttpError` keeps its status. `unexpected`: a fault of the program, of which the
 * client gets only the request id.
 */
export type ExplainFailure = (
  error: unknown,
  request?: ArrivedRequest,
) => {
  readonly response: HttpResponse
  readonly unexpected: boolean
  /** The reached limit of a 429. */
  readonly limit?: Limit | undefined
  /** Status for the failure's count, when the response has another one. */
  readonly status?: number
}

/** Status lines, by status. */
export const STATUS_LINES: Readonly<Record<number, string>> = {
  200: '200 OK',
  202: '202 Accepted',
  204: '204 No Content',
  303: '303 See Other',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  408: '408 Request Timeout',
  409: '409 Conflict',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  429: '429 Too Many Requests',
  431: '431 Request Header Fields Too Large',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
  505: '505 HTTP Version Not Supported',
}

export const JSON_TYPE = 'application/json; charset=utf-8'
export const NDJSON_TYPE = 'application/x-ndjson'

/** Whether the body is available as a whole and not streamed. */
export function isWhole(body: HttpResponse['body']): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array
}

/** Adds the headers of a response to those of its request. @param headers name, value, name, value; extended in place */
export function completeHeaders(
  headers: string[],
  { type, headers: own }: HttpResponse,
  hasContent: boolean,
): readonly string[] {
  if (hasContent) headers.push('content-type', type ?? JSON_TYPE)
  if (own) for (const name in own) headers.push(name, own[name]!)
  return headers
}

/** A response whose length is known before it is sent. */
export interface WholeHead {
  readonly status: number
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  /** Length of the body when only the head is sent; undefined: the head has no length. */
  readonly bodyBytes: number | undefined
  /** The connection ends with the response. */
  readonly close: boolean
}

/**
 * Whether ending the response now would close the connection before the client has read everything. A body that arrives too
 * slowly (408) is not waited for.
 * @param isReceived whether the whole body of the request has arrived
 * @param body of the response; undefined: only its head is sent
 */
export function mustLinger(
  { head, closes, isLast }: ArrivedRequest,
  isReceived: boolean,
  { status, close }: WholeHead,
  body: string | Uint8Array | undefined,
  { discardMaxBytes }: HttpLimits,
): boolean {
  if (status === 408) return false
  // The line break after the last chunk, and trailers, may still arrive. Only text can be sent this way.
  if (isReceived) return isLast && typeof body === 'string' && body !== ''
  return close || closes || head.contentLength === undefined || head.contentLength > discardMaxBytes
}

/**
 * Sends a whole response. After `send` or `linger` it is in one of these states:
 * - sending: holds the part that the client has no room for;
 * - lingering: everything is written. The rest of the request is read and dropped, because closing a connection with unread
 *   bytes resets it, and the reset may reach the client before the response;
 * - over: the writer must not be touched any more.
 */
export class WholeResponse implements ResponseReader {
  readonly #writer: ResponseWriter
  readonly #limits: HttpLimits
  readonly #over: () => void
  #state: 'sending' | 'lingering' | 'over' = 'sending'
  /** `performance.now()` when the client last read something, or lingering began. */
  #sinceMs: number
  #quiet = false

  /**
   * @param over called once when the response is over; not after `abort`
   * @param nowMs `performance.now()`
   */
  constructor(writer: ResponseWriter, limits: HttpLimits, over: () => void, nowMs: number) {
    this.#sinceMs = nowMs
    this.#writer = writer
    this.#limits = limits
    this.#over = over
  }

  /** @param body undefined: only the head is sent */
  send({ status, headers, bodyBytes, close }: WholeHead, body: string | Uint8Array | undefined): void {
    const writer = this.#writer
    if (body === undefined || body.length === 0) {
      if (writer.sendBare(status, headers, bodyBytes, close)) {
        this.#end()
      } else {
        this.#state = 'lingering'
        this.#cutOffSoon()
      }
    } else if (writer.send(status, headers, body, close, this)) {
      this.#end()
    }
  }

  /** Sends a response that ends the connection, and reads the rest of the request up to the limits. */
  linger({ status, headers }: WholeHead, body: string | Uint8Array | undefined): void {
    this.#state = 'lingering'
    this.#writer.sendLingering(status, headers, body ?? '')
  }

  /** More of the request has arrived. @param receivedBytes of its body, in total */
  received(receivedBytes: number, last: boolean): void {
    this.#quiet = false
    if (this.#state === 'lingering' && (last || receivedBytes > this.#limits.discardMaxBytes)) this.#cutOffSoon()
  }

  moved(): void {
    this.#sinceMs = performance.now()
  }

  hasRoom(): void {
    this.#end()
  }

  abort(): void {
    this.#state = 'over'
  }

  /** Ends a response that takes too long. Call it at least every few seconds. @param nowMs `performance.now()` */
  sweep(nowMs: number): void {
    const waitedMs = nowMs - this.#sinceMs
    if (this.#state === 'sending') {
      if (waitedMs > this.#limits.writeStallMs) this.#cutOff()
      else this.#writer.keepOpen()
    } else if (this.#state === 'lingering') {
      if (this.#quiet || waitedMs > this.#limits.discardMs) this.#cutOff()
      this.#quiet = true
    }
  }

  /** In a later turn, when the data of this turn is being sent. */
  #cutOffSoon(): void {
    setImmediate(() => {
      if (this.#state === 'lingering') this.#cutOff()
    })
  }

  #cutOff(): void {
    this.#end()
    this.#writer.cutOff()
  }

  #end(): void {
    this.#state = 'over'
    this.#over()
  }
}

type StreamLimits = Pick<HttpLimits, 'writeStallMs' | 'workMs' | 'discardMs'>

/** Called by a streamed response. Nothing is called after `abort`. */
interface StreamOwner {
  /** Everything is sent; the writer is given up. */
  done(): void
  /** The response cannot continue: cut the connection off. `failure` is undefined when the client caused it. */
  broken(failure: unknown): void
  /** The client makes no room but has time left: keep the connection open. */
  keepOpen(): void
}

/** The body of a response while it is sent. While the client makes no room, the source is not asked for more. */
export class StreamedResponse {
  readonly #source: AsyncIterator<string>
  readonly #limits: StreamLimits
  readonly #owner: StreamOwner
  #state: 'writing' | 'waiting for the source' | 'waiting for room' | 'lingering' | 'over' = 'writing'
  /** `performance.now()` when the state began, or the client last read something. */
  #sinceMs = performance.now()
  #roomMade: () => void = () => {}
  #flush = false

  constructor(source: AsyncIterator<string>, limits: StreamLimits, owner: StreamOwner) {
    this.#source = source
    this.#limits = limits
    this.#owner = owner
  }

  /**
   * Writes head and body, and ends the response. Never rejects.
   * @param open sends the head; called once
   * @param first the first piece of the source
   * @param flush see `HttpResponse`
   */
  async send(
    open: (reader: ResponseReader) => BodyWriter,
    first: IteratorResult<string>,
    flush = false,
  ): Promise<void> {
    this.#flush = flush
    try {
      const body = open({
        moved: () => {
          this.#sinceMs = performance.now()
        },
        hasRoom: () => this.#roomMade(),
      })
      for (let piece = first; !piece.done; piece = await this.#next()) {
        body.add(piece.value)
        await this.#write(body, flush)
      }
      await this.#write(body, true)
      if (this.#isOver) return
      if (!body.end()) {
        this.#enter('lingering')
        return
      }
      this.#state = 'over'
      this.#owner.done()
    } catch (error) {
      this.#break(error)
    }
  }

  /** The connection is gone: stops writing and ends the source. */
  abort(): void {
    if (this.#isOver) return
    this.#state = 'over'
    this.#roomMade()
    this.#source.return?.().catch(() => {})
  }

  /**
   * Ends a response that takes too long: a client that makes no room, or a source that gives nothing. Call it at least
   * every few seconds.
   * @param nowMs `performance.now()`
   * @param stops whether the server stops: it then waits neither for a slow client of a live stream nor for a completed
   * response
   */
  sweep(nowMs: number, stops = false): void {
    const waitedMs = nowMs - this.#sinceMs
    if (this.#state === 'waiting for room') {
      if (waitedMs > this.#limits.writeStallMs || (stops && this.#flush)) this.#break(undefined)
      else this.#owner.keepOpen()
    } else if (this.#state === 'waiting for the source' && waitedMs > this.#limits.workMs) {
      this.#break(new Error('the rest of a response took too long'))
    } else if (this.#state === 'lingering' && (stops || waitedMs > this.#limits.discardMs)) {
      this.#break(undefined)
    }
  }

  get #isOver(): boolean {
    return this.#state === 'over'
  }

  async #next(): Promise<IteratorResult<string>> {
    if (this.#isOver) return { done: true, value: undefined }
    this.#enter('waiting for the source')
    const piece = await this.#source.next()
    if (this.#isOver) return { done: true, value: undefined }
    this.#enter('writing')
    return piece
  }

  /** Writes until there is nothing to write, and gives other requests their turn in between. */
  async #write(body: BodyWriter, rest: boolean): Promise<void> {
    while (!this.#isOver) {
      const written = body.write(rest)
      if (written === 'none') return
      if (written === 'full') await this.#room()
      else await new Promise(setImmediate)
    }
  }

  /** Resolves when the client has made room, or the response is over. */
  async #room(): Promise<void> {
    this.#enter('waiting for room')
    await new Promise<void>((resolve) => {
      this.#roomMade = resolve
    })
    if (!this.#isOver) this.#enter('writing')
  }

  #enter(state: 'writing' | 'waiting for the source' | 'waiting for room' | 'lingering'): void {
    this.#state = state
    this.#sinceMs = performance.now()
  }

  #break(failure: unknown): void {
    if (this.#isOver) return
    this.abort()
    this.#owner.broken(failure)
  }
}
