import { pipeline, Readable } from 'node:stream'
import { assertRead, brokenBody, type Coding, decoderOf, isDecoderError, tooLarge, windowMaxBytes } from './decode.ts'

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
 * @param coding from `codingOf`
 * @param maxBytes limit of the decoded size
 * @param hold counts the memory of the decoder, negative when it is free again; may throw
 * @throws HttpError 400 when it is broken, 413 when the decoded body is too large; errors of `source` and `hold`
 */
export function decodeStream(
  source: AsyncIterable<Buffer>,
  coding: Coding | undefined,
  maxBytes: number,
  hold: (bytes: number) => void,
): AsyncIterable<Buffer> {
  if (coding === undefined) return source
  const pieces = limitBytes(decoded(source, coding, maxBytes), maxBytes)
  const windowMax = windowMaxBytes(coding)
  return windowMax === 0 ? pieces : counting(pieces, windowMax, hold)
}

/** Counts the window of a decoder, which grows with the decoded bytes. The end of the request frees the window of a body that breaks off. */
async function* counting(
  pieces: AsyncIterable<Buffer>,
  windowMax: number,
  hold: (bytes: number) => void,
): AsyncGenerator<Buffer, void, void> {
  let decodedBytes = 0
  let held = 0
  for await (const piece of pieces) {
    decodedBytes += piece.length
    const bytes = Math.min(windowMax, decodedBytes)
    if (bytes > held) hold(bytes - held)
    held = bytes
    yield piece
  }
  hold(-held)
}

const CHUNK_BYTES = 65_536

async function* decoded(
  source: AsyncIterable<Buffer>,
  coding: Coding,
  maxBytes: number,
): AsyncGenerator<Buffer, void, void> {
  const decoder = decoderOf(coding, CHUNK_BYTES)
  // The iteration throws the errors of both ends.
  let sent = 0
  const counted = async function* () {
    for await (const chunk of source) {
      sent += chunk.length
      yield chunk
    }
  }
  pipeline(Readable.from(counted(), { objectMode: false }), decoder, () => {})
  try {
    yield* decoder as AsyncIterable<Buffer>
    // Other codings read on after a first member, or refuse what follows it.
    if (coding === 'zstd') assertRead((decoder as unknown as { readonly bytesWritten: number }).bytesWritten, sent)
  } catch (error) {
    throw isDecoderError(error) ? brokenBody(error, coding, maxBytes) : error
  }
}
