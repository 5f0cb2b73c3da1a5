import { setImmediate as turn } from 'node:timers/promises'

/** Converting the rows of one piece takes some 12 ms. */
const PIECE_BYTES = 65_536

/** Passes bytes on in small pieces, with a pause before each, so that the process can do other work. */
export async function* smallPieces(source: AsyncIterable<Buffer>, pieceBytes = PIECE_BYTES): AsyncGenerator<Buffer> {
  for await (const bytes of source) {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      await turn()
      yield bytes.subarray(at, at + pieceBytes)
    }
  }
}
