const PIECE_BYTES = 16_384

/**
 * Joins small chunks into larger pieces, because each chunk has an overhead of a hundred uncounted bytes, and a client may
 * send its body byte by byte. Only for bodies that are read to the end: it waits until a piece is full.
 */
export async function* gathered(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    held.push(chunk)
    bytes += chunk.length
    if (bytes < PIECE_BYTES && held.length < PIECE_BYTES) continue
    yield held.length === 1 ? chunk : Buffer.concat(held, bytes)
    held = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(held, bytes)
}
