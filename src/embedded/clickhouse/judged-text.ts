import { StringDecoder } from 'node:string_decoder'
import { plainDataStart } from './plain-insert.ts'

/**
 * The text of a request that has to be judged. The data of an INSERT are left out where they cannot hold an expression, so that
 * the work depends on the statement, not on its data.
 */

/** Data that begin later than this are judged as if they were part of the statement. */
const HEAD_BYTES = 65_536
/** Others get a turn after each piece: searching one takes about 5 ms. */
const PIECE_LENGTH = 262_144

/**
 * The judged text in pieces of at most 256 Ki characters: query, line break and body, or the beginning of that.
 * @param body as UTF-8
 */
export function* piecesToJudge(query: string, body: Uint8Array): Generator<string> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const head = `${query}\n${bytes.toString('utf8', 0, HEAD_BYTES)}`
  const dataAt = plainDataStart(head)
  const isAll = bytes.length <= HEAD_BYTES
  // A name that ends where the head was cut may go on: "FORMAT Val" is a part of "FORMAT Values".
  if (dataAt !== undefined && (isAll || dataAt !== head.length)) {
    yield* piecesOf(head.slice(0, dataAt))
    return
  }
  yield* piecesOf(`${query}\n`)
  const decoder = new StringDecoder('utf8')
  for (let at = 0; at < bytes.length; at += PIECE_LENGTH) yield decoder.write(bytes.subarray(at, at + PIECE_LENGTH))
  yield decoder.end()
}

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += PIECE_LENGTH) yield text.slice(at, at + PIECE_LENGTH)
}
