import type { HttpResponse } from 'uWebSockets.js'
import type { BodyWriter, ResponseReader } from '../engine.ts'
import { OutputCollector } from './output-collector.ts'

/**
 * Of a body that is not read uWebSockets.js holds one write of the collector. What the kernel does not take of a write,
 * it keeps, and asks for more when the kernel has room. It says whether the kernel took all only of writes that are larger
 * than its buffer of one turn, and of those made while it asks. So writes are large, and when it asks, one byte is written
 * to learn whether it still holds something.
 */
export class UwsBodyWriter implements BodyWriter {
  readonly #response: HttpResponse
  readonly #reader: ResponseReader
  readonly #lastOfConnection: string | undefined
  readonly #output = new OutputCollector()
  /** Whether the last write was not taken whole, and what is left of it is held still. */
  #full = false
  #begun = false
  #ended = false

  /**
   * The head is to be written before the first write.
   * @param lastOfConnection request id of a request that is the last of its connection; undefined for others
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
   * To end a response lets uWebSockets.js take the next request; told to close too, it writes a header into the body. So
   * the end of the last one goes out as if it were a header: the last chunk, and the request id as a trailer.
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

  /** The kernel has room. Returns true: whatever is held is written out by the next write. */
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
