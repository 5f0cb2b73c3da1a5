import { StringDecoder } from 'node:string_decoder'
import { plainDataStart } from './plain-insert.ts'

/**
 * The text of a request that must be judged. It excludes the data of an INSERT if they cannot hold an expression, so that the
 * work depends on the statement and not on the size of its data.
 */

/** Data that begin after this position are judged as part of the statement. */
const HEAD_BYTES = 65_536
/** Size of a piece. Searching one takes about 5 ms; other requests run in between. */
const PIECE_LENGTH = 262_144

/**
 * The text in pieces of at most 256 Ki characters: query, line break and body, or the start of the body.
 * @param body as UTF-8
 */
export function* piecesToJudge(query: string, body: Uint8Array): Generator<string> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const head = `${query}\n${bytes.toString('utf8', 0, HEAD_BYTES)}`
  const dataAt = plainDataStart(head)
  const isAll = bytes.length <= HEAD_BYTES
  // A name at the end of the head may be truncated: "FORMAT Val" of "FORMAT Values".
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
