import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { isZlibError, tooLarge } from './decode.ts'
import { HttpError } from './http-error.ts'

/** Passes bytes on. @throws HttpError 413 when they are more than `maxBytes` */
export async function* limitBytes(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer, void, void> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    yield chunk
  }
}

/**
 * Decodes a body as it arrives, with backpressure.
 * @param encoding one that `assertEncoding` accepts
 * @param maxBytes limit of the decoded size
 * @throws HttpError 400 when the encoding is broken, 413 when the decoded body is too large; errors of `source`
 */
export function decodeStream(source: AsyncIterable<Buffer>, encoding: string, maxBytes: number): AsyncIterable<Buffer> {
  return encoding.endsWith('gzip') ? limitBytes(gunzip(source), maxBytes) : source
}

async function* gunzip(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const decoder = createGunzip({ chunkSize: 65_536 })
  // The iteration throws the errors of both ends.
  pipeline(Readable.from(source, { objectMode: false }), decoder, () => {})
  try {
    yield* decoder as AsyncIterable<Buffer>
  } catch (error) {
    if (!isZlibError(error)) throw error
    throw new HttpError(400, 'the body is not gzip, or is cut off')
  }
}
