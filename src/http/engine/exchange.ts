import type { SlicedWork } from '../../run/slices.ts'
import { type BodyOwner, UNCOUNTED_BYTES } from './body-budget.ts'
import { type BodyScan, searchBody } from './body-search.ts'
import { type Coding, codingOf, smallText } from './decode.ts'
import type { ArrivedRequest, RequestReceiver, ResponseWriter } from './engine.ts'
import { AbortedError, HttpError } from './http-error.ts'
import {
  assertReadable,
  BodyBuffer,
  BodyPace,
  BodyStream,
  flowWhile,
  openBody,
  type RequestBody,
  readPieces,
  readText,
  tooSlow,
} from './request-body.ts'
import {
  completeHeaders,
  type ExplainFailure,
  type HttpResponse,
  isWhole,
  mustLinger,
  StreamedResponse,
  type WholeHead,
  WholeResponse,
} from './response.ts'
import type { InFlight, Traffic } from './traffic.ts'

/** Handles the requests of a route: reads their body, and responds. */
export interface Endpoint {
  /** Its name in logs and metrics. */
  readonly path: string
  /** Limit of a body in bytes, as sent and decoded. Undefined: no body is expected, and one that is sent is ignored. */
  readonly bodyMaxBytes?: number
  /** Whether the body is read in pieces with `Exchange.stream`, and not as a whole with `Exchange.text`. */
  readonly streamsBody?: boolean
  /**
   * Whether a body may be compressed in every way that senders use, and one that begins as gzip or zstd does is decoded, although no header
   * says that it is. Default: false, it may be gzip.
   */
  readonly takesAnyCoding?: boolean
  /**
   * Whether requests with small bodies are handled together at the end of the turn, while the same code is in the
   * processor's caches.
   */
  readonly beginsTogether?: boolean
  /**
   * Whether `Exchange.peerAddress` also answers once the connection is gone: a browser closes that of a beacon at once. Default: false,
   * because it costs some time of each request.
   */
  readonly keepsPeer?: boolean
  /** The responses to failures of its requests. Default: as the server's other endpoints. */
  readonly explain?: ExplainFailure
  /** Makes the response. The body may still be arriving. May throw anything: see `ExplainFailure`. */
  respond(exchange: Exchange): HttpResponse | Promise<HttpResponse>
}

/** See `Endpoint.beginsTogether`. Bytes as sent; larger bodies are not worth a copy. */
const TOGETHER_MAX_BYTES = 4_096

const UNKNOWN: BodyOwner = { tenantId: undefined, client: '' }

/**
 * One request and its response. It is in one of these states:
 * - open: the body may be arriving, the response is being made;
 * - responding: the response is being sent, and may still be in the making;
 * - done: responded or aborted; the writer must not be touched any more.
 */
export class Exchange implements RequestReceiver, InFlight {
  readonly request: ArrivedRequest
  readonly endpoint: Endpoint
  readonly startedMs: number
  heldBytes = 0
  owner: BodyOwner = UNKNOWN
  position = -1
  /** See `hold`. */
  #handlerBytes = 0
  #state: 'open' | 'responding' | 'done' = 'open'
  readonly #writer: ResponseWriter
  /** See `Endpoint.keepsPeer`. */
  readonly #peer: string | undefined
  readonly #headOnly: boolean
  readonly #traffic: Traffic
  readonly #explain: ExplainFailure
  readonly #body: RequestBody | undefined
  /** Headers of the response: name, value, name, value. */
  readonly #headers: string[]
  #response: WholeResponse | StreamedResponse | undefined
  /** The source of a streamed response until its first piece; ended when the request ends before that. */
  #source: AsyncIterator<string> | undefined
  /** `performance.now()` when the body was complete, or earlier in that turn; undefined while it arrives. */
  #completeMs: number | undefined
  #text: string | Promise<string> | undefined
  #begun = false
  #committed = false
  #leaving: AbortController | undefined
  readonly #pace: BodyPace

  /** @param headOnly `HEAD`: the response is its head only */
  constructor(
    request: ArrivedRequest,
    writer: ResponseWriter,
    endpoint: Endpoint,
    headOnly: boolean,
    traffic: Traffic,
    explain: ExplainFailure,
  ) {
    this.request = request
    this.endpoint = endpoint
    this.startedMs = performance.now()
    this.#writer = writer
    this.#peer = endpoint.keepsPeer === true ? writer.peerAddress() : undefined
    this.#headOnly = headOnly
    this.#traffic = traffic
    this.#explain = explain
    this.#pace = new BodyPace(this.startedMs)
    const { head } = request
    this.#headers = ['x-request-id', head.requestId]
    this.#completeMs = head.hasBody ? undefined : this.startedMs
    const flow = endpoint.streamsBody ? flowWhile(() => this.#state === 'open', writer) : undefined
    this.#body = openBody(head, endpoint.bodyMaxBytes, flow)
  }

  get requestId(): string {
    return this.request.head.requestId
  }

  /**
   * Address of the other end of the connection. `''` once there is a response, or the connection is gone; not so with
   * `Endpoint.keepsPeer`.
   */
  peerAddress(): string {
    if (this.#peer !== undefined) return this.#peer
    return this.#state === 'open' ? this.#writer.peerAddress() : ''
  }

  /**
   * Begins the response, or refuses the request when too many are in progress. A small body mostly arrives in the same
   * turn: wait for the end of the turn, so that the response needs no promise.
   */
  start(): void {
    const mayBeWhole = this.request.head.hasBody && !this.endpoint.streamsBody
    const refusal = this.#traffic.entered(this, mayBeWhole)
    if (refusal) this.#refuse(refusal)
    else if (!mayBeWhole) this.begin()
  }

  begin(): void {
    if (this.#begun || this.#state !== 'open') return
    this.#begun = true
    // An answer sent outside of the parser keeps it from reading later bytes as another request.
    const { head, isLast, isAnsweredLater } = this.request
    if (isLast || isAnsweredLater || head.badFraming !== undefined || this.#traffic.crowded)
      setImmediate(() => this.#respond())
    else this.#respond()
  }

  /** Aborts when the connection is gone before the response began, or the request was answered with an error meanwhile. */
  get left(): AbortSignal {
    this.#leaving ??= new AbortController()
    if (this.#state !== 'open') this.#leaving.abort(new AbortedError())
    return this.#leaving.signal
  }

  /** Adds a header to any response. @param name in lower case */
  addHeader(name: string, value: string): void {
    this.#headers.push(name, value)
  }

  /** @throws HttpError 413 when the announced size is over the endpoint's limit, 415 for an unknown content encoding */
  assertBody(): void {
    const { bodyMaxBytes, takesAnyCoding = false } = this.endpoint
    if (bodyMaxBytes !== undefined) assertReadable(this.request.head, bodyMaxBytes, takesAnyCoding)
  }

  /**
   * The body as text, decoded; without a promise when it has arrived. Call it once, on endpoints that have a body.
   * @throws HttpError 400, 408 or 413; AbortedError
   */
  text(): string | Promise<string> {
    const { bodyMaxBytes, takesAnyCoding = false } = this.endpoint
    if (this.#text === undefined) {
      const text = readText(this.#body, this.request.head, bodyMaxBytes!, takesAnyCoding, (work) => this.#decoded(work))
      this.#text = text instanceof Promise ? text.then((late) => this.#holdText(late)) : text
    }
    return this.#text
  }

  /** Counts the memory that a text takes in addition to the body as sent. */
  #holdText(text: string): string {
    const moreBytes = text.length - this.#body!.heldBytes
    if (moreBytes > 0) this.hold(moreBytes)
    return text
  }

  /** Decodes in another thread. A tenant's bodies are decoded one after the other, so that those of others need not wait. */
  #decoded<T>(work: () => Promise<T>): Promise<T> {
    return this.#traffic.decoding.run(this.#worker, work, this.left)
  }

  /**
   * Searches the body, decoded, before it is read: see `searchBody`. For questions that decide whether it is read at all. Call it on endpoints that
   * have a body and do not stream it.
   * @param begin begins a scan of the body
   * @param onlyStart whether to search only the first 64 KB
   * @throws HttpError 400, 408 or 413; AbortedError
   */
  search(begin: () => BodyScan, onlyStart: boolean): string | undefined | Promise<string | undefined> {
    const body = this.#body
    if (!(body instanceof BodyBuffer)) return undefined
    const { bodyMaxBytes: bytesMax, takesAnyCoding = false } = this.endpoint
    return searchBody(
      body,
      {
        codingOf: (start) => codingOf(this.request.head.contentEncoding, takesAnyCoding, start),
        bytesMax: bytesMax!,
        onlyStart,
        smallText: (pieces, coding) => this.#smallText(pieces, coding, bytesMax!),
        inSlices: (work) => this.inSlices(work),
        decoding: (work) => this.#decoded(work),
      },
      begin,
    )
  }

  /** Keeps the text, so that it is decoded once. */
  #smallText(pieces: readonly Uint8Array[], coding: Coding, bytesMax: number): string | undefined {
    const text = smallText(pieces, coding, bytesMax)
    this.#text ??= text
    return text
  }

  /**
   * Runs long work of this request in slices between other requests, see `Slices`; without a promise when it is short. The work ends when
   * the request does.
   */
  inSlices<T>(work: SlicedWork<T>): T | Promise<T> {
    return this.#traffic.slices.run(this.#worker, work, () => {
      if (this.#state !== 'open') throw new AbortedError()
    })
  }

  /** The owner of the turn in which work of this request is done: its tenant, or its client while it has none. */
  get #worker(): string {
    const { tenantId } = this.owner
    return tenantId === undefined ? `client ${this.client}` : `tenant ${tenantId}`
  }

  /** Address of the client, see `ServerOptions.clientOf`. `''` when it is not known any more. */
  get client(): string {
    if (this.owner === UNKNOWN) this.owner = { tenantId: undefined, client: this.#traffic.clientOf(this) }
    return this.owner.client
  }

  /**
   * The key of the request is known: from now on its body takes memory of this tenant, and its work is done in the tenant's turn.
   * @throws HttpError 429
   */
  admit(tenantId: string): void {
    const { owner, heldBytes } = this
    if (heldBytes > 0) this.#traffic.hold(this, -heldBytes)
    this.owner = { tenantId, client: owner.client }
    if (heldBytes === 0) return
    const refusal = this.#traffic.hold(this, heldBytes)
    if (refusal !== undefined) throw refusal
  }

  /**
   * The body in pieces, decoded, with backpressure. Iterate it once, on endpoints with `streamsBody`. Throws as `text`, but
   * the bytes need not be text.
   * @param onSent called with the pieces as they were sent
   */
  stream(onSent?: (bytes: Buffer) => void): AsyncGenerator<Buffer, void, void> {
    const { bodyMaxBytes, takesAnyCoding: anyCoding = false } = this.endpoint
    return readPieces(this.#body, this.request.head, bodyMaxBytes!, {
      anyCoding,
      onSent,
      hold: (bytes) => this.hold(bytes),
    })
  }

  /**
   * Counts memory that the handler keeps of a body that it streams, until the response. Bodies in memory have one limit together.
   * @param bytes negative when it needs less again
   * @throws HttpError 429
   */
  hold(bytes: number): void {
    if (this.#state !== 'open') throw new AbortedError()
    this.#handlerBytes += bytes
    const refusal = this.#count()
    if (refusal !== undefined) throw refusal
  }

  /** Counts the held bytes. Returns the refusal when they are too many. */
  #count(): HttpError | undefined {
    const bytes = (this.#body?.heldBytes ?? 0) + this.#handlerBytes
    const counted = bytes <= UNCOUNTED_BYTES ? 0 : bytes
    const grown = counted - this.heldBytes
    if (grown === 0) return undefined
    if (this.owner === UNKNOWN) this.owner = { tenantId: undefined, client: this.#traffic.clientOf(this) }
    this.heldBytes = counted
    return this.#traffic.hold(this, grown)
  }

  /**
   * Call this before work that cannot be undone. From then on the time limit of the request does not apply, so that work
   * needs a deadline of its own.
   * @throws AbortedError when the request has a response already, or its connection is gone
   */
  commit(): void {
    if (this.#state !== 'open') throw new AbortedError()
    this.#committed = true
  }

  receive(chunk: ArrayBuffer | Uint8Array, last: boolean): void {
    this.#pace.add(chunk.byteLength)
    if (last) this.#completeMs = this.#begun ? performance.now() : this.startedMs
    if (this.#response instanceof WholeResponse) this.#response.received(this.#pace.receivedBytes, last)
    if (this.#state !== 'open') return
    if (this.#body !== undefined) {
      this.#body.push(chunk, last)
      // A body in several chunks is a large one. Its key may be known before the rest arrives, and is before it is counted.
      if (!last && this.#body instanceof BodyBuffer) this.begin()
    }
    if (last) {
      if (!this.endpoint.beginsTogether || this.#pace.receivedBytes > TOGETHER_MAX_BYTES) this.begin()
      if (this.#body instanceof BodyBuffer) this.#body.keep()
    }
    if (this.#body === undefined || this.#state !== 'open') return
    const refusal = this.#count()
    if (refusal) this.#refuse(refusal)
  }

  /** Answers with an error. Does nothing when the request has a response already, or its connection is gone. */
  fail(error: unknown): void {
    if (this.#state !== 'open' || error instanceof AbortedError) return
    const {
      response,
      unexpected,
      limit,
      status = response.status,
    } = (this.endpoint.explain ?? this.#explain)(error, this.request)
    if (limit !== undefined) this.#traffic.refused(limit)
    if (status === 500) this.#traffic.logFailure(this, error, unexpected)
    this.#body?.fail(error)
    this.#count()
    this.#source?.return?.().catch(() => {})
    this.#send(response)
    this.#leaving?.abort(new AbortedError())
  }

  /** Fails while the engine parses. */
  #refuse(error: HttpError): void {
    if (this.request.isAnsweredLater) setImmediate(() => this.fail(error))
    else this.fail(error)
  }

  get isArrivingStranger(): boolean {
    return this.owner.tenantId === undefined && this.#completeMs === undefined
  }

  cutOff(): void {
    this.#writer.cutOff()
    // An engine may report the end of the connection later.
    this.abort()
  }

  abort(): void {
    if (this.#state === 'done') return
    // First, because a failing body releases its connection while it may still be used.
    this.#leave()
    this.#body?.fail(new AbortedError())
    this.#response?.abort()
    this.#source?.return?.().catch(() => {})
    this.#leaving?.abort(new AbortedError())
  }

  sweep(nowMs: number): void {
    const { limits } = this.#traffic
    if (this.#response) {
      if (this.#response instanceof StreamedResponse) this.#response.sweep(nowMs, this.#traffic.draining)
      else this.#response.sweep(nowMs)
      return
    }
    if (this.#completeMs !== undefined) {
      if (this.#committed || nowMs - this.#completeMs <= limits.workMs) return
      this.fail(new HttpError('slow_answer', 'the answer took too long', { headers: { 'retry-after': '1' } }))
      return
    }
    const waitsForUs = this.#body instanceof BodyStream && this.#body.paused
    if (this.#pace.isStalled(nowMs, waitsForUs, limits)) this.fail(tooSlow(limits))
  }

  #respond(): void {
    if (this.#state !== 'open') return
    try {
      const { badFraming } = this.request.head
      if (badFraming !== undefined) throw new HttpError('malformed_request', badFraming, { close: true })
      const response = this.endpoint.respond(this)
      if (!(response instanceof Promise)) this.#answer(response)
      else response.then((made) => this.#answer(made)).catch((error) => this.fail(error))
    } catch (error) {
      this.fail(error)
    }
  }

  #answer(response: HttpResponse): void {
    const { after } = response
    if (after === undefined) this.#send(response)
    else after.then(this.#sendAfter.bind(this, response), this.fail.bind(this))
  }

  #sendAfter(response: HttpResponse): void {
    try {
      this.#send(response)
    } catch (error) {
      this.fail(error)
    }
  }

  #send(response: HttpResponse): void {
    if (this.#state !== 'open') return
    const { body } = response
    if (isWhole(body)) {
      this.#sendWhole(response, body)
    } else if (this.#headOnly) {
      this.#sendWhole(response, undefined)
    } else {
      void this.#stream(response, body[Symbol.asyncIterator]())
    }
  }

  /** @param body undefined: the body is streamed, and the request asks for the head only */
  #sendWhole(response: HttpResponse, body: string | Uint8Array | undefined): void {
    const { status } = response
    const nowMs = performance.now()
    this.#traffic.responded(this, status, nowMs)
    if (this.#body instanceof BodyStream) this.#body.release()
    const close = response.close === true || this.request.isLast || this.#traffic.draining
    const sent = this.#headOnly ? undefined : body
    const isBare = sent === undefined || sent.length === 0
    const head: WholeHead = {
      status,
      headers: completeHeaders(this.#headers, response, body === undefined || body.length > 0),
      bodyBytes: isBare && body !== undefined && status !== 204 ? Buffer.byteLength(body) : undefined,
      close,
    }
    this.#state = 'responding'
    const whole = new WholeResponse(this.#writer, this.#traffic.limits, () => this.#leave(), nowMs)
    this.#response = whole
    if (mustLinger(this.request, this.#completeMs !== undefined, head, sent, this.#traffic.limits))
      whole.linger(head, sent)
    else whole.send(head, sent)
  }

  async #stream(response: HttpResponse, source: AsyncIterator<string>): Promise<void> {
    let first: IteratorResult<string>
    this.#source = source
    try {
      first = await source.next()
    } catch (error) {
      this.fail(error)
      return
    } finally {
      this.#source = undefined
    }
    if (this.#state !== 'open') return
    this.#state = 'responding'
    this.#traffic.responded(this, response.status, performance.now())
    const streamed = new StreamedResponse(source, this.#traffic.limits, {
      done: () => this.#leave(),
      broken: (failure) => {
        if (failure !== undefined) this.#traffic.logFailure(this, failure, true)
        this.#leave()
        this.#writer.cutOff()
      },
      keepOpen: () => this.#writer.keepOpen(),
    })
    this.#response = streamed
    const headers = completeHeaders(this.#headers, response, true)
    await streamed.send((reader) => this.#writer.stream(response.status, headers, reader), first, response.flush)
  }

  #leave(): void {
    this.#state = 'done'
    this.#traffic.left(this)
  }
}
