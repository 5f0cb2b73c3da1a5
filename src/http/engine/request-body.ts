import { andThen } from '../../run/and-then.ts'
import { assertEncoding, CODING_BYTES, codingOf, type Decoding, decodeText, tooLarge } from './decode.ts'
import { decodeStream, limitBytes } from './decode-stream.ts'
import type { RequestHead } from './head.ts'
import { HttpError } from './http-error.ts'
import type { HttpLimits } from './limits.ts'

/** The body of a request. */
export type RequestBody = BodyBuffer | BodyStream

/**
 * Opens the receiver of a body; undefined when there is no body, or it is ignored.
 * @param maxBytes limit as sent and decoded; undefined: the body is ignored
 * @param flow makes it a stream with backpressure on the connection
 */
export function openBody(
  { hasBody, contentLength }: RequestHead,
  maxBytes: number | undefined,
  flow: Flow | undefined,
): RequestBody | undefined {
  if (!hasBody || maxBytes === undefined || (contentLength ?? 0) > maxBytes) return undefined
  return flow === undefined ? new BodyBuffer(maxBytes) : new BodyStream(flow)
}

/**
 * @param anyCoding see `Endpoint.takesAnyCoding`
 * @throws HttpError 413 when the announced size is over the limit, 415 for an unknown content encoding
 */
export function assertReadable(
  { contentLength, contentEncoding }: RequestHead,
  maxBytes: number,
  anyCoding: boolean,
): void {
  if ((contentLength ?? 0) > maxBytes) throw tooLarge(maxBytes)
  assertEncoding(contentEncoding, anyCoding)
}

/**
 * The body as text, decoded; without a promise when it has arrived; `''` without a body.
 * @param anyCoding see `Endpoint.takesAnyCoding`
 * @param decoding see `decodeText`
 * @throws HttpError 400, 413 or 415; the error of the body
 */
export function readText(
  body: RequestBody | undefined,
  { contentEncoding }: RequestHead,
  maxBytes: number,
  anyCoding: boolean,
  decoding: Decoding,
): string | Promise<string> {
  if (!(body instanceof BodyBuffer)) return ''
  return andThen(body.complete(), (bytes) => {
    if (bytes === undefined) throw tooLarge(maxBytes)
    return decodeText(bytes, codingOf(contentEncoding, anyCoding, bytes), maxBytes, decoding)
  })
}

interface PieceOptions {
  /** See `Endpoint.takesAnyCoding`. */
  readonly anyCoding: boolean
  readonly onSent: ((bytes: Buffer) => void) | undefined
  /** See `decodeStream`. */
  hold(bytes: number): void
}

/** The body in pieces, decoded, with backpressure. Throws as `readText`, except for UTF-8. */
export async function* readPieces(
  body: RequestBody | undefined,
  { contentEncoding }: RequestHead,
  maxBytes: number,
  { anyCoding, onSent, hold }: PieceOptions,
): AsyncGenerator<Buffer, void, void> {
  if (!(body instanceof BodyStream)) return
  const limited = limitBytes(body, maxBytes)
  const sent = onSent === undefined ? limited : tapped(limited, onSent)
  const start = anyCoding ? await startOf(sent, CODING_BYTES) : Buffer.alloc(0)
  yield* decodeStream(startingWith(start, sent), codingOf(contentEncoding, anyCoding, start), maxBytes, hold)
}

async function* tapped(pieces: AsyncIterable<Buffer>, onSent: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const bytes of pieces) {
    onSent(bytes)
    yield bytes
  }
}

/** The first bytes of a stream, in whole pieces; fewer than `minBytes` only when it ends. */
async function startOf(pieces: AsyncGenerator<Buffer>, minBytes: number): Promise<Buffer> {
  let start = Buffer.alloc(0)
  while (start.length < minBytes) {
    const { done, value } = await pieces.next()
    if (done === true) break
    start = Buffer.concat([start, value])
  }
  return start
}

async function* startingWith(start: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (start.length > 0) yield start
  yield* rest
}

/** Collects the body of a request in memory, up to a limit. */
export class BodyBuffer {
  readonly #maxBytes: number
  readonly #chunks = new ChunkList()
  /** A body that came as one chunk and is not copied yet: see `keep`. */
  #lent: ArrayBuffer | Uint8Array | undefined
  #bytes = 0
  #state: 'receiving' | 'complete' | 'too large' | 'failed' = 'receiving'
  #failure: unknown
  /** Called when there are as many bytes as are waited for, or when no more come. */
  #settle: (() => void) | undefined
  #awaitedBytes = Number.POSITIVE_INFINITY

  /** @param maxBytes limit of the body; a larger one is dropped as a whole */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes counted as held in memory; never fewer than are held. */
  get heldBytes(): number {
    return this.#bytes
  }

  /** Takes a chunk. After the last chunk, call `keep` before its memory is reused. */
  push(chunk: ArrayBuffer | Uint8Array, last: boolean): void {
    if (this.#state !== 'receiving') return
    const bytes = chunk.byteLength
    if (this.#bytes + bytes > this.#maxBytes) {
      this.#drop('too large')
      return
    }
    if (last && this.#bytes === 0) this.#lent = chunk
    else this.#chunks.push(chunk)
    this.#bytes += bytes
    if (last) this.#state = 'complete'
    if (last || this.#bytes >= this.#awaitedBytes) this.#settle?.()
  }

  /** Copies the last chunk. Does nothing when the body was taken before. */
  keep(): void {
    if (this.#lent !== undefined) this.#chunks.push(this.#lent)
    this.#lent = undefined
  }

  /** Ends the collection: `complete` rejects with this error. */
  fail(error: unknown): void {
    if (this.#state !== 'receiving') return
    this.#failure = error
    this.#drop('failed')
  }

  /**
   * The whole body: at once when it has arrived, or else as a promise. Undefined as soon as it exceeds the limit. Call it
   * once; read the result before `keep` may be called.
   */
  complete(): Buffer | undefined | Promise<Buffer | undefined> {
    if (this.#state !== 'receiving') return this.#taken()
    return this.#settled(Number.POSITIVE_INFINITY).then(() => this.#taken())
  }

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  /**
   * Waits for the first `minBytes`, or for all of a shorter body, before `complete` is called; without a promise when they have arrived.
   * @throws HttpError 413; the error of `fail`
   */
  arrived(minBytes: number): void | Promise<void> {
    if (this.#state === 'receiving' && this.#bytes < minBytes) {
      return this.#settled(minBytes).then(() => this.arrived(minBytes))
    }
    if (this.#state === 'failed') throw this.#failure
    if (this.#state === 'too large') throw tooLarge(this.#maxBytes)
  }

  /** The bytes that have arrived so far, in pieces. The last one is valid until `keep` is called. */
  pieces(): readonly Uint8Array[] {
    const lent = this.#lent
    if (lent === undefined) return this.#chunks.pieces()
    return [lent instanceof Uint8Array ? lent : new Uint8Array(lent)]
  }

  #settled(awaitedBytes: number): Promise<void> {
    this.#awaitedBytes = awaitedBytes
    return new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  #taken(): Buffer | undefined {
    if (this.#state === 'failed') throw this.#failure
    if (this.#state === 'too large') return undefined
    const lent = this.#lent
    if (lent === undefined) return this.#chunks.all()
    this.#lent = undefined
    return lent instanceof Uint8Array ? Buffer.from(lent.buffer, lent.byteOffset, lent.byteLength) : Buffer.from(lent)
  }

  #drop(state: 'too large' | 'failed'): void {
    this.#state = state
    this.#bytes = 0
    this.#chunks.clear()
    this.#lent = undefined
    this.#settle?.()
  }
}

/** The parts of the connection that a stream needs. Both methods may be called in any state. */
interface Flow {
  pause(): void
  resume(): void
}

/** A flow that does nothing once the connection may not be used any more. */
export function flowWhile(isOpen: () => boolean, flow: Flow): Flow {
  return {
    pause() {
      if (isOpen()) flow.pause()
    },
    resume() {
      if (isOpen()) flow.resume()
    },
  }
}

/** The connection is paused above this many unread bytes, and resumed below half of it. */
const HIGH_WATER_BYTES = 1_048_576

/** The body of a request as it arrives, with backpressure. Iterate it once. */
export class BodyStream implements AsyncIterable<Buffer> {
  readonly #flow: Flow
  readonly #chunks = new ChunkList()
  #paused = false
  #ended = false
  #failure: unknown
  #wake: () => void = () => {}

  constructor(flow: Flow) {
    this.#flow = flow
  }

  /** Whether the sender waits for us to resume reading. */
  get paused(): boolean {
    return this.#paused
  }

  get heldBytes(): number {
    return this.#chunks.bytes
  }

  /** Takes a chunk and copies it, because its memory is reused when the caller returns. */
  push(chunk: ArrayBuffer | Uint8Array, last: boolean): void {
    if (this.#failure !== undefined) return
    this.#chunks.push(chunk)
    if (last) this.#ended = true
    else if (!this.#paused && this.#chunks.bytes > HIGH_WATER_BYTES) {
      this.#paused = true
      this.#flow.pause()
    }
    this.#wake()
  }

  /** Ends the iteration with an error, even when everything was read already. Unread bytes are dropped. */
  fail(error: unknown): void {
    this.#failure ??= error
    this.#chunks.clear()
    this.release()
    this.#wake()
  }

  /** Drops the rest: resumes reading, so that the bytes can be discarded. */
  release(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#flow.resume()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) {
        if (this.#chunks.bytes < HIGH_WATER_BYTES / 2) this.release()
        yield chunk
      } else if (this.#ended) {
        return
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }
}

/** Measures how fast the body of a request arrives. */
export class BodyPace {
  #receivedBytes = 0
  #sinceMs: number
  #sinceBytes = 0

  /** @param nowMs `performance.now()` */
  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  add(bytes: number): void {
    this.#receivedBytes += bytes
  }

  /**
   * Whether too few bytes arrived for too long.
   * @param waitsForUs whether we paused the sender, which then need not send
   */
  isStalled(nowMs: number, waitsForUs: boolean, { bodyStallBytes, bodyStallMs }: HttpLimits): boolean {
    if (!waitsForUs && this.#receivedBytes - this.#sinceBytes < bodyStallBytes) {
      return nowMs - this.#sinceMs > bodyStallMs
    }
    this.#sinceMs = nowMs
    this.#sinceBytes = this.#receivedBytes
    return false
  }
}

/** The response to a stalled body. */
export function tooSlow(limits: HttpLimits): HttpError {
  return new HttpError('slow_body', `the body arrived too slowly: ${tooLittle(limits)}`, { close: true })
}

/** The limit of a stalled body in words. */
export function tooLittle({ bodyStallBytes, bodyStallMs }: HttpLimits): string {
  return `less than ${bodyStallBytes / 1_024} KiB in ${bodyStallMs / 1_000} s`
}

/** Chunks of at least this size are kept separately; smaller ones share a buffer. */
const LARGE_BYTES = 16_384
const SHARED_BYTES = 65_536
/** A small body that came in one chunk uses Node.js' buffer pool. */
const POOLED_BYTES = 2_048

/**
 * Bytes in order of arrival. Copies each chunk, because its memory is reused afterwards. Small chunks share buffers, so
 * that a body that arrives byte by byte takes little more memory than its bytes.
 */
export class ChunkList {
  #full: Buffer[] = []
  #shared: Buffer | undefined
  #used = 0
  #taken = 0
  #bytes = 0

  /** Number of bytes held. */
  get bytes(): number {
    return this.#bytes
  }

  push(chunk: ArrayBuffer | Uint8Array): void {
    const bytes = chunk instanceof Uint8Array ? chunk : new Uint8Array(chunk)
    if (bytes.length === 0) return
    this.#bytes += bytes.length
    if (bytes.length >= LARGE_BYTES || (this.#shared === undefined && this.#full.length === 0)) {
      this.#close()
      const copy =
        bytes.length <= POOLED_BYTES ? Buffer.allocUnsafe(bytes.length) : Buffer.allocUnsafeSlow(bytes.length)
      copy.set(bytes)
      this.#full.push(copy)
      return
    }
    if (this.#shared === undefined || this.#used + bytes.length > SHARED_BYTES) {
      this.#close()
      this.#shared = Buffer.allocUnsafeSlow(SHARED_BYTES)
    }
    this.#shared.set(bytes, this.#used)
    this.#used += bytes.length
  }

  /** Removes and returns the first bytes; undefined when nothing is left. */
  shift(): Buffer | undefined {
    if (this.#full.length === 0) this.#share()
    const chunk = this.#full.shift()
    if (chunk !== undefined) this.#bytes -= chunk.length
    return chunk
  }

  /** Removes and returns everything. */
  all(): Buffer {
    this.#close()
    const chunks = this.#full
    this.clear()
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  /** The bytes in pieces, without removing them. */
  pieces(): readonly Uint8Array[] {
    if (this.#shared === undefined || this.#taken === this.#used) return this.#full
    return [...this.#full, this.#shared.subarray(this.#taken, this.#used)]
  }

  clear(): void {
    this.#full = []
    this.#shared = undefined
    this.#used = 0
    this.#taken = 0
    this.#bytes = 0
  }

  /** Turns the used part of the shared buffer into a chunk, and continues with the rest of the buffer. */
  #share(): void {
    if (this.#shared === undefined || this.#taken === this.#used) return
    this.#full.push(this.#shared.subarray(this.#taken, this.#used))
    this.#taken = this.#used
  }

  #close(): void {
    this.#share()
    this.#shared = undefined
    this.#used = 0
    this.#taken = 0
  }
}
