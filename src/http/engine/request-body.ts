import { andThen } from '../../run/and-then.ts'
import { BodyBuffer } from './body-buffer.ts'
import { BodyStream, type Flow } from './body-stream.ts'
import { assertEncoding, type Decoding, decodeText, isGzip, tooLarge } from './decode.ts'
import { decodeStream, limitBytes } from './decode-stream.ts'
import type { RequestHead } from './head.ts'

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

/** @throws HttpError 413 when the announced size is over the limit, 415 for an unknown content encoding */
export function assertReadable({ contentLength, contentEncoding }: RequestHead, maxBytes: number): void {
  if ((contentLength ?? 0) > maxBytes) throw tooLarge(maxBytes)
  assertEncoding(contentEncoding)
}

/**
 * The body as text, decoded; without a promise when it has arrived; `''` without a body.
 * @param decoding see `decodeText`
 * @throws HttpError 400 or 413; the error of the body
 */
export function readText(
  body: RequestBody | undefined,
  { contentEncoding }: RequestHead,
  maxBytes: number,
  detectsGzip: boolean,
  decoding: Decoding,
): string | Promise<string> {
  if (!(body instanceof BodyBuffer)) return ''
  return andThen(body.complete(), (bytes) => {
    if (bytes === undefined) throw tooLarge(maxBytes)
    // No text begins as gzip does. Some libraries send gzip without saying so.
    const encoding = detectsGzip ? (isGzip(bytes) ? 'gzip' : '') : contentEncoding
    return decodeText(bytes, encoding, maxBytes, decoding)
  })
}

interface PieceOptions {
  /** See `Endpoint.detectsGzip`. */
  readonly detectsGzip: boolean
  readonly onSent: ((bytes: Buffer) => void) | undefined
}

/** The body in pieces, decoded, with backpressure. Throws as `readText`, except for UTF-8. */
export async function* readPieces(
  body: RequestBody | undefined,
  { contentEncoding }: RequestHead,
  maxBytes: number,
  { detectsGzip, onSent }: PieceOptions,
): AsyncGenerator<Buffer, void, void> {
  if (!(body instanceof BodyStream)) return
  const limited = limitBytes(body, maxBytes)
  const sent = onSent === undefined ? limited : tapped(limited, onSent)
  if (!detectsGzip) {
    yield* decodeStream(sent, contentEncoding, maxBytes)
    return
  }
  const start = await startOf(sent, GZIP_HEAD_BYTES)
  yield* decodeStream(startingWith(start, sent), isGzip(start) ? 'gzip' : '', maxBytes)
}

const GZIP_HEAD_BYTES = 3

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
