import type { ArrivedRequest, ResponseReader, ResponseWriter } from './engine.ts'
import type { HttpLimits } from './limits.ts'

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
