import type { HttpResponse } from 'uWebSockets.js'
import type { BodyWriter, ResponseReader } from '../engine.ts'
import { OutputCollector } from './output-collector.ts'

/**
 * When a client does not read, uWebSockets.js holds one write of the collector. It keeps the part of a write that the
 * kernel did not take, and calls back when the kernel has room. It reports whether the kernel took everything only for
 * writes larger than its buffer of one turn, and for writes within that callback. So writes are large, and the callback
 * writes one byte to learn whether data is still held.
 */
export class UwsBodyWriter implements BodyWriter {
  readonly #response: HttpResponse
  readonly #reader: ResponseReader
  readonly #lastOfConnection: string | undefined
  readonly #output = new OutputCollector()
  /** Whether part of the last write is still held. */
  #full = false
  #begun = false
  #ended = false

  /**
   * Write the head before the first write.
   * @param lastOfConnection request id when this request is the last of its connection; otherwise undefined
   */
  constructor(response: HttpResponse, reader: ResponseReader, lastOfConnection: string | undefined) {
    this.#response = response
    this.#reader = reader
    this.#lastOfConnection = lastOfConnection
    response.onWritable(() => this.#onRoom())
  }

  add(text: string): void {
    this.#output.add(text)
  }

  write(rest: boolean): 'more' | 'full' | 'none' {
    this.#full = false
    const bytes = rest ? this.#output.takeRest() : this.#output.take()
    if (bytes === undefined) return 'none'
    this.#begun = true
    this.#response.cork(() => {
      this.#full = !this.#response.write(bytes)
    })
    return this.#full ? 'full' : 'more'
  }

  /**
   * Ending a response lets uWebSockets.js take the next request. With close, it would write a header into the body. So the
   * end of the last response is written like a header: the last chunk, with the request id as a trailer.
   */
  end(): boolean {
    this.#ended = true
    const response = this.#response
    const requestId = this.#lastOfConnection
    response.cork(() => {
      if (requestId === undefined) response.end()
      else if (this.#begun) response.writeHeader('\r\n0\r\nx-request-id', `${requestId}\r\n`)
      else response.writeHeader('content-length', '0\r\n')
    })
    return requestId === undefined
  }

  /** The kernel has room. Returns true: the next write flushes the held data. */
  #onRoom(): boolean {
    if (this.#ended) return true
    const byte = this.#full ? this.#output.takeByte() : undefined
    if (byte === undefined) this.#response.cork(() => {})
    const taken = byte === undefined || this.#response.write(byte)
    this.#reader.moved()
    if (taken && this.#full) {
      this.#full = false
      setImmediate(() => this.#reader.hasRoom())
    }
    return true
  }
}
