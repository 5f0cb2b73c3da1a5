import type { HttpResponse } from 'uWebSockets.js'
import type { Caller, RateDecision } from '../tenants/tenancy.ts'
import { BodyBuffer } from './body-buffer.ts'
import { BodyStream } from './body-stream.ts'
import { decodeText, demandEncoding, tooLarge } from './decode.ts'
import { decodeStream, limitBytes } from './decode-stream.ts'
import { AbortedError, errorReply, HttpError } from './errors.ts'
import type { RequestHead } from './head.ts'
import { JSON_TYPE, type Reply, STATUS_LINES } from './reply.ts'
import type { Route } from './route.ts'
import { StreamedAnswer } from './streamed-answer.ts'
import type { Traffic } from './traffic.ts'

/** A request as it arrived. */
export interface Arrival {
  readonly route: Route
  readonly head: RequestHead
  /** First parameter of the path, `''` when it has none. */
  readonly parameter: string
  /** What follows `?`, undecoded. */
  readonly query: string
  /** `HEAD`: the answer is headers only. */
  readonly headOnly: boolean
}

/**
 * One request and its answer. It is in one of these states:
 * - open: the body may be arriving, the answer is being made;
 * - streaming: the head of the answer is written, its body is being made and sent;
 * - lingering: the answer is written, what is left of the body is read and dropped, because a connection that is closed
 *   with unread bytes is reset, and a reset may reach the client before the answer;
 * - done: answered or aborted; the response object must not be touched any more.
 */
export class Exchange {
  readonly arrival: Arrival
  readonly startedMs: number
  /** Who asks, on routes that need a key, once that is known. */
  caller: Caller | undefined
  /** State of the caller's token bucket, once that is known. */
  rate: RateDecision | undefined
  #state: 'open' | 'streaming' | 'lingering' | 'done' = 'open'
  readonly #response: HttpResponse
  readonly #traffic: Traffic
  readonly #body: BodyBuffer | BodyStream | undefined
  #streamed: StreamedAnswer | undefined
  #heldBytes = 0
  /** `performance.now()` when the body was complete; undefined while it arrives. */
  #completeMs: number | undefined
  #receivedBytes = 0
  #mark: { readonly atMs: number; readonly receivedBytes: number }

  constructor(response: HttpResponse, arrival: Arrival, traffic: Traffic) {
    this.arrival = arrival
    this.startedMs = performance.now()
    this.#response = response
    this.#traffic = traffic
    this.#mark = { atMs: this.startedMs, receivedBytes: 0 }
    const { head, route } = arrival
    this.#completeMs = head.hasBody ? undefined : this.startedMs
    const { bodyMaxBytes, streamsBody } = route
    if (head.hasBody && bodyMaxBytes !== undefined && (head.contentLength ?? 0) <= bodyMaxBytes) {
      this.#body = streamsBody ? new BodyStream(this.#flow()) : new BodyBuffer(bodyMaxBytes)
    }
  }

  get requestId(): string {
    return this.arrival.head.requestId
  }

  get parameter(): string {
    return this.arrival.parameter
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Bytes of the body that count as held in memory. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** @throws HttpError 413 when the announced size is over the route's limit, 415 for an unknown content encoding */
  demandBody(): void {
    const { head, route } = this.arrival
    const maxBytes = route.bodyMaxBytes
    if (maxBytes === undefined) return
    if ((head.contentLength ?? 0) > maxBytes) throw tooLarge(maxBytes)
    demandEncoding(head.contentEncoding)
  }

  /**
   * The body as text, decoded; to be called once, on routes that have a body.
   * @throws HttpError 400, 408 or 413; AbortedError
   */
  async text(): Promise<string> {
    const maxBytes = this.arrival.route.bodyMaxBytes!
    if (!(this.#body instanceof BodyBuffer)) return ''
    const body = await this.#body.complete()
    if (body === undefined) throw tooLarge(maxBytes)
    return decodeText(body, this.arrival.head.contentEncoding, maxBytes)
  }

  /**
   * The body piece by piece, decoded, no faster than it is taken; to be iterated once, on routes with `streamsBody`.
   * Throws what `text` throws, except that the bytes need not be text.
   */
  async *stream(): AsyncGenerator<Buffer, void, void> {
    const maxBytes = this.arrival.route.bodyMaxBytes!
    if (!(this.#body instanceof BodyStream)) return
    yield* decodeStream(limitBytes(this.#body, maxBytes), this.arrival.head.contentEncoding, maxBytes)
  }

  /** Takes bytes of the body as they arrive; also those that nobody wants. */
  receive(chunk: ArrayBuffer | Uint8Array, last: boolean): void {
    this.#receivedBytes += chunk.byteLength
    if (last) this.#completeMs = performance.now()
    if (this.#state === 'lingering') {
      const { discardMaxBytes } = this.#traffic.limits
      if (last || this.#receivedBytes > discardMaxBytes) this.#finish()
      return
    }
    if (this.#state !== 'open' || this.#body === undefined) return
    this.#body.push(chunk, last)
    const grownBytes = this.#body.heldBytes - this.#heldBytes
    this.#heldBytes += grownBytes
    const refusal = this.#traffic.hold(grownBytes)
    if (refusal) this.fail(refusal)
  }

  /** Sends the answer. Does nothing when there is one already, or nobody to take it. */
  send(reply: Reply): void {
    if (this.#state !== 'open') return
    const { body } = reply
    if (!isWhole(body) && !this.arrival.headOnly) {
      void this.#stream(reply, body[Symbol.asyncIterator]())
      return
    }
    this.#traffic.answered(this, reply.status)
    if (this.#body instanceof BodyStream) this.#body.letGo()
    this.#response.cork(() => this.#write(reply, isWhole(body) ? body : undefined))
  }

  async #stream(reply: Reply, source: AsyncIterator<string>): Promise<void> {
    let first: IteratorResult<string>
    try {
      first = await source.next()
    } catch (error) {
      this.fail(error)
      return
    }
    if (this.#state !== 'open') {
      source.return?.().catch(() => {})
      return
    }
    this.#state = 'streaming'
    this.#traffic.answered(this, reply.status)
    this.#streamed = new StreamedAnswer(this.#response, source, {
      done: () => this.#leave(),
      broken: (failure) => {
        if (failure !== undefined) this.#traffic.logFailure(this, failure, true)
        this.#finish()
      },
    })
    await this.#streamed.send(() => this.#writeHead(reply, true), first)
  }

  /** Answers a failure. */
  fail(error: unknown): void {
    if (this.#state !== 'open') return
    const { reply, unexpected } = errorReply(error)
    if (reply.status === 500) this.#traffic.logFailure(this, error, unexpected)
    this.#body?.fail(error)
    this.send(reply)
  }

  /** The connection is gone. */
  abort(): void {
    if (this.#state === 'done') return
    this.#body?.fail(new AbortedError())
    this.#streamed?.abort()
    this.#leave()
  }

  /** Ends what takes too long; called now and then. @param nowMs `performance.now()` */
  sweep(nowMs: number): void {
    const { limits } = this.#traffic
    const { atMs, receivedBytes } = this.#mark
    if (this.#state === 'streaming') {
      this.#streamed?.sweep(nowMs, limits.writeStallMs, limits.workMs)
      return
    }
    if (this.#state === 'lingering') {
      const quiet = this.#receivedBytes === receivedBytes
      if (quiet || nowMs - atMs > limits.discardMs) this.#finish()
      else this.#mark = { atMs, receivedBytes: this.#receivedBytes }
      return
    }
    if (this.#completeMs !== undefined) {
      if (nowMs - this.#completeMs <= limits.workMs) return
      this.fail(new HttpError(500, 'the answer took too long', { headers: { 'retry-after': '1' } }))
      return
    }
    const waitsForUs = this.#body instanceof BodyStream && this.#body.paused
    if (waitsForUs || this.#receivedBytes - receivedBytes >= limits.bodyStallBytes) {
      this.#mark = { atMs: nowMs, receivedBytes: this.#receivedBytes }
    } else if (nowMs - atMs > limits.bodyStallMs) {
      this.fail(new HttpError(408, 'the body arrived too slowly', { close: true }))
    }
  }

  /** The connection, for as long as it may be touched. */
  #flow() {
    return {
      pause: () => {
        if (this.#state === 'open') this.#response.pause()
      },
      resume: () => {
        if (this.#state === 'open') this.#response.resume()
      },
    }
  }

  /** @param body undefined: one that is streamed, of which only the head is asked for */
  #write(reply: Reply, body: string | Uint8Array | undefined): void {
    const response = this.#response
    const close = reply.close === true || this.#traffic.draining
    const mustLinger = this.#completeMs === undefined && this.#unreadBodyResets(close) && reply.status !== 408
    this.#writeHead(reply, body === undefined || body.length > 0)
    if (mustLinger) {
      writeWhole(response, this.arrival.headOnly || body === undefined ? '' : body)
      this.#mark = { atMs: performance.now(), receivedBytes: -1 }
      this.#state = 'lingering'
      return
    }
    if (body === undefined) endBare(response, undefined, close)
    else if (this.arrival.headOnly) endBare(response, Buffer.byteLength(body), close)
    else if (reply.status === 204) endBare(response, undefined, close)
    else response.end(body, close)
    this.#leave()
  }

  #writeHead(reply: Reply, hasContent: boolean): void {
    const response = this.#response
    if (reply.status !== 200) response.writeStatus(STATUS_LINES[reply.status] ?? String(reply.status))
    response.writeHeader('x-request-id', this.requestId)
    if (hasContent) response.writeHeader('content-type', reply.type ?? JSON_TYPE)
    if (this.rate) writeRate(response, this.rate)
    if (reply.headers) for (const name in reply.headers) response.writeHeader(name, reply.headers[name]!)
  }

  /** Whether ending the response now closes the connection before its body was read. */
  #unreadBodyResets(close: boolean): boolean {
    const { contentLength, closes } = this.arrival.head
    return close || closes || contentLength === undefined || contentLength > this.#traffic.limits.discardMaxBytes
  }

  /** Ends a lingering answer, and with it the connection. */
  #finish(): void {
    this.#leave()
    this.#response.close()
  }

  #leave(): void {
    this.#state = 'done'
    this.#traffic.left(this)
  }
}

function isWhole(body: Reply['body']): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array
}

/**
 * Writes the end of an answer and leaves the response open. The engine has no call for that: what ends a response also
 * gives it up, or closes the connection at once. So the rest of the answer goes out as if it were part of a header, and
 * the line break that the engine adds counts as the last two bytes of the body.
 */
function writeWhole(response: HttpResponse, body: string | Uint8Array): void {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  response.writeHeader('connection', `close\r\ncontent-length: ${Buffer.byteLength(text) + 2}\r\n\r\n${text}`)
}

/** Ends an answer that has no body. Told the length, the engine would wait for one; told to close, it would invent one. */
function endBare(response: HttpResponse, length: number | undefined, close: boolean): void {
  if (length !== undefined) response.writeHeader('content-length', String(length))
  if (close) response.writeHeader('connection', 'close')
  response.endWithoutBody()
}

function writeRate(response: HttpResponse, rate: RateDecision): void {
  response.writeHeader('ratelimit-limit', String(rate.limit))
  response.writeHeader('ratelimit-remaining', String(rate.remaining))
  response.writeHeader('ratelimit-reset', String(rate.resetSeconds))
}
