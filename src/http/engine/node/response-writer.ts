import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BodyWriter, ResponseReader, ResponseWriter } from '../engine.ts'
import { STATUS_LINES } from '../response.ts'
import { NodeBodyWriter } from './body-writer.ts'
import { flush } from './flush.ts'

/** A body is written in pieces of this many bytes, so that progress of the client is noticed. */
const PIECE_BYTES = 262_144

/** Writes the response of a request that `node:http` received. */
export class NodeResponseWriter implements ResponseWriter {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
  }

  peerAddress(): string {
    return this.#request.socket.remoteAddress ?? ''
  }

  pause(): void {
    this.#request.pause()
  }

  resume(): void {
    this.#request.resume()
  }

  send(
    status: number,
    headers: readonly string[],
    body: string | Uint8Array,
    close: boolean,
    reader: ResponseReader,
  ): boolean {
    const bytes = Buffer.byteLength(body)
    this.#writeHead(status, headers, bytes, close)
    if (bytes > PIECE_BYTES) return this.#sendPieces(typeof body === 'string' ? Buffer.from(body) : body, 0, reader)
    const sent = flush(this.#response, () => this.#response.end(body))
    if (!sent) {
      // Node.js also reports `finish` when the connection was destroyed.
      this.#response.once('finish', () => {
        if (!this.#request.socket.destroyed) reader.hasRoom()
      })
    }
    return sent
  }

  sendBare(status: number, headers: readonly string[], bodyBytes: number | undefined, close: boolean): boolean {
    this.#writeHead(status, headers, bodyBytes, close)
    this.#response.end()
    return true
  }

  /** A response that is not ended leaves the connection open, so only its bytes are written. */
  sendLingering(status: number, headers: readonly string[], body: string | Uint8Array): void {
    const bare = status === 204 || this.#request.method === 'HEAD'
    this.#writeHead(status, headers, bare ? undefined : Buffer.byteLength(body), true)
    flush(this.#response, () => {
      if (body.length > 0) this.#response.write(body)
      else this.#response.flushHeaders()
    })
  }

  stream(status: number, headers: readonly string[], reader: ResponseReader): BodyWriter {
    this.#writeHead(status, headers, undefined, false)
    return new NodeBodyWriter(this.#response, reader)
  }

  /** Node.js waits for room without a limit. */
  keepOpen(): void {}

  cutOff(): void {
    this.#request.socket.destroy()
  }

  #writeHead(status: number, headers: readonly string[], bodyBytes: number | undefined, close: boolean): void {
    const lines = [...headers]
    if (bodyBytes !== undefined) lines.push('content-length', String(bodyBytes))
    if (close) {
      lines.push('connection', 'close')
      this.#response.shouldKeepAlive = false
    }
    // Node.js' reason phrases of some statuses differ from RFC 9110.
    const reason = STATUS_LINES[status]?.slice(4) ?? ''
    this.#response.writeHead(status, reason, lines)
  }

  /** Returns whether the client had room for everything. */
  #sendPieces(body: Uint8Array, from: number, reader: ResponseReader): boolean {
    const response = this.#response
    for (let at = from; at < body.length; at += PIECE_BYTES) {
      let waits = false
      const sent = flush(response, () =>
        response.write(body.subarray(at, at + PIECE_BYTES), (error) => {
          if (!waits || error) return
          reader.moved()
          if (this.#sendPieces(body, at + PIECE_BYTES, reader)) reader.hasRoom()
        }),
      )
      if (!sent) {
        waits = true
        return false
      }
    }
    response.end()
    return true
  }
}
