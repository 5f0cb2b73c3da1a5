import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import { LINE_FEED } from './line-chunker.ts'
import { otherShapeOf } from './other-shapes.ts'
import { assertText } from './other-types.ts'

/** This many bytes are enough to tell the shape of nearly every body. */
const HEAD_BYTES = 4_096
/** A line that arrives byte by byte must not take many times its size. */
const PIECES_MAX = 4_096

/**
 * Passes a body on once its head looks like NDJSON. When the head looks like a request for `/v1/ingest`, it waits for the whole
 * first line.
 * @throws HttpError 400 when the body is JSON of another shape, 415 when it is no text
 */
export async function* ndjsonBody(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let heldBytes = 0
  let isDecided = false
  let wantsLine = false
  for await (const bytes of body) {
    if (isDecided) {
      yield bytes
      continue
    }
    held.push(bytes)
    heldBytes += bytes.length
    if (held.length > PIECES_MAX) held = [Buffer.concat(held)]
    if (heldBytes < HEAD_BYTES) continue
    if (wantsLine && !bytes.includes(LINE_FEED) && heldBytes <= BATCH_LIMITS.lineMaxBytes) continue
    const start = Buffer.concat(held)
    wantsLine = !isNdjson(start, heldBytes > BATCH_LIMITS.lineMaxBytes)
    held = [start]
    if (wantsLine) continue
    isDecided = true
    held = []
    yield start
  }
  if (isDecided) return
  const start = Buffer.concat(held)
  isNdjson(start, true)
  if (start.length > 0) yield start
}

/** Returns false when it needs more of the body. @param isEnough true: decide now */
function isNdjson(start: Buffer, isEnough: boolean): boolean {
  assertText(start)
  const shape = otherShapeOf(start.toString('utf8'), isEnough)
  if (shape === undefined || shape === 'undecided') return shape === undefined
  throw new HttpError('no_events', `the body is ${shape}`)
}
