import type { HttpResponse } from 'uWebSockets.js'
import type { BodyWriter, ResponseReader, ResponseWriter } from '../engine.ts'
import { STATUS_LINES } from '../response.ts'
import { UwsBodyWriter } from './body-writer.ts'

/**
 * Nothing tells whether a client takes a head without a body. What it leaves is bounded all the same: of an engine's heads
 * each of this number ends its connection.
 */
const BARE_HEADS = 256

/**
 * What the responses of an engine share. Those that are made in a row, when a commit is answered, are written in a row behind
 * that, so that the code that makes them and the code that sends them come into the processor's caches once, and not for each.
 */
export class Outgoing {
  /** Heads without a body that were sent. */
  bareHeads = 0
  #made: UwsResponseWriter[] = []

  /** Writes it behind those that are made in a row with it: in a microtask. */
  add(writer: UwsResponseWriter): void {
    if (this.#made.push(writer) === 1) queueMicrotask(() => this.#flush())
  }

  #flush(): void {
    const made = this.#made
    this.#made = []
    for (const writer of made) writer.sendMade()
  }
}

/** A response that is made and not sent yet. */
interface Made {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string | Uint8Array
  readonly bodyBytes: number
  readonly close: boolean
  readonly reader: ResponseReader
}

/** The way back of a request that uWebSockets.js received. Everything is written corked: in one packet, if it fits. */
export class UwsResponseWriter implements ResponseWriter {
  /** Whether uWebSockets.js has corked it, as it does while it hands over what arrived. */
  isCorked = false
  readonly #response: HttpResponse
  readonly #outgoing: Outgoing
  readonly #lastOfConnection: string | undefined
  #made: Made | undefined

  /** @param lastOfConnection request id of a request that is the last of its connection; undefined for others */
  constructor(response: HttpResponse, outgoing: Outgoing, lastOfConnection: string | undefined) {
    this.#response = response
    this.#outgoing = outgoing
    this.#lastOfConnection = lastOfConnection
  }

  /** The connection is gone. */
  abort(): void {
    this.#made = undefined
  }

  peerAddress(): string {
    return Buffer.from(this.#response.getRemoteAddressAsText()).toString('latin1')
  }

  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  /**
   * Only `tryEnd` sees that a client does not read, and holds nothing of the body then. It cannot close the connection:
   * a response that does is the last, and held whole. Outside of the handler it is put off, see `Outgoing`.
   */
  send(
    status: number,
    headers: readonly string[],
    body: string | Uint8Array,
    close: boolean,
    reader: ResponseReader,
  ): boolean {
    const made = { status, headers, body, bodyBytes: Buffer.byteLength(body), close, reader }
    if (this.isCorked) return this.#write(made)
    this.#made = made
    this.#outgoing.add(this)
    return false
  }

  /** Sends what was put off. */
  sendMade(): void {
    const made = this.#made
    if (made === undefined) return
    this.#made = undefined
    this.#response.cork(() => {
      if (this.#write(made)) made.reader.hasRoom()
    })
  }

  #write(made: Made): boolean {
    const response = this.#response
    const sent = sendWhole(response, made)
    if (!sent) sendRest(response, typeof made.body === 'string' ? Buffer.from(made.body) : made.body, made.reader)
    return sent
  }

  /** Told the length, `end` would wait for a body; told to close, it would invent one. */
  sendBare(status: number, headers: readonly string[], bodyBytes: number | undefined, close: boolean): boolean {
    const response = this.#response
    const ends = close || ++this.#outgoing.bareHeads % BARE_HEADS === 0
    response.cork(() => {
      writeHead(response, status, headers)
      if (bodyBytes !== undefined) response.writeHeader('content-length', String(bodyBytes))
      if (ends) response.writeHeader('connection', 'close\r\n')
      else response.endWithoutBody()
    })
    return !ends
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
    const body = new UwsBodyWriter(response, reader, this.#lastOfConnection)
    const all = this.#lastOfConnection === undefined ? headers : [...headers, 'connection', 'close']
    response.cork(() => writeHead(response, status, all))
    return body
  }

  /**
   * A connection on which there was no room for 10 s is closed. To resume its reading, after a pause, starts those anew,
   * and leaves it watched for room while that is waited for.
   */
  keepOpen(): void {
    this.#response.pause()
    this.#response.resume()
  }

  cutOff(): void {
    this.#response.close()
  }
}

/** All headers are one to uWebSockets.js: each call of it costs as much as some lines of text. */
function writeHead(response: HttpResponse, status: number, headers: readonly string[]): void {
  if (status !== 200) response.writeStatus(STATUS_LINES[status] ?? String(status))
  if (headers.length === 0) return
  let lines = headers[1]!
  for (let i = 2; i < headers.length; i += 2) lines += `\r\n${headers[i]}: ${headers[i + 1]}`
  response.writeHeader(headers[0]!, lines)
}

/** Returns whether the client has room for all of it. */
function sendWhole(response: HttpResponse, { status, headers, body, bodyBytes, close }: Made): boolean {
  writeHead(response, status, headers)
  if (!close) return response.tryEnd(body, bodyBytes)[1]
  response.end(body, true)
  return true
}

function sendRest(response: HttpResponse, body: Uint8Array, reader: ResponseReader): void {
  response.onWritable((offset) => {
    const [taken, sent] = response.tryEnd(body.subarray(offset), body.length)
    reader.moved()
    if (sent) reader.hasRoom()
    return taken
  })
}
