import type { HttpResponse } from 'uWebSockets.js'
import type { BodyWriter, ResponseReader, ResponseWriter } from '../engine.ts'
import { STATUS_LINES } from '../response.ts'
import { UwsBodyWriter } from './body-writer.ts'

/** The way back of a request that uWebSockets.js received. Everything is written corked: in one packet, if it fits. */
export class UwsResponseWriter implements ResponseWriter {
  readonly #response: HttpResponse

  constructor(response: HttpResponse) {
    this.#response = response
  }

  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  send(status: number, headers: readonly string[], body: string | Uint8Array, close: boolean): void {
    const response = this.#response
    response.cork(() => {
      writeHead(response, status, headers)
      response.end(body, close)
    })
  }

  /** Told the length, `end` would wait for a body; told to close, it would invent one. */
  sendBare(status: number, headers: readonly string[], bodyBytes: number | undefined, close: boolean): void {
    const response = this.#response
    response.cork(() => {
      writeHead(response, status, headers)
      if (bodyBytes !== undefined) response.writeHeader('content-length', String(bodyBytes))
      if (close) response.writeHeader('connection', 'close')
      response.endWithoutBody()
    })
  }

  /**
   * uWebSockets.js has no call for that: what ends a response also gives it up, or closes the connection at once. So the
   * rest goes out as if it were part of a header, and the line break that is added counts as the last two bytes of the
   * body.
   */
  sendLingering(status: number, headers: readonly string[], body: string | Uint8Array): void {
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
    const bodyBytes = Buffer.byteLength(text) + 2
    const response = this.#response
    response.cork(() => {
      writeHead(response, status, headers)
      response.writeHeader('connection', `close\r\ncontent-length: ${bodyBytes}\r\n\r\n${text}`)
    })
  }

  stream(status: number, headers: readonly string[], reader: ResponseReader): BodyWriter {
    const response = this.#response
    const body = new UwsBodyWriter(response, reader)
    response.cork(() => writeHead(response, status, headers))
    return body
  }

  cutOff(): void {
    this.#response.close()
  }
}

function writeHead(response: HttpResponse, status: number, headers: readonly string[]): void {
  if (status !== 200) response.writeStatus(STATUS_LINES[status] ?? String(status))
  for (let i = 0; i < headers.length; i += 2) response.writeHeader(headers[i]!, headers[i + 1]!)
}
