import { promisify } from 'node:util'
import { createInflateRaw, deflateRaw, type InflateRaw, inflateRaw } from 'node:zlib'
import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** Most bytes of a chunk's lines: one line, which may be larger than a chunk. */
const LINES_BYTES_MAX = 2 * BATCH_LIMITS.lineMaxBytes

/**
 * Compresses the lines of a chunk. A body of 1.4 MB of gzip decodes to 100 MB, and its events may be twice as large: Redis and its file
 * on disk must not hold that. The fastest level takes 1.5 ms of a helper thread per chunk.
 */
export function packLines(bytes: Buffer): Promise<Buffer> {
  return deflate(bytes, { level: 1 })
}

/** @param maxBytes most bytes of them; default: of a chunk @throws when they are damaged */
export function unpackLines(bytes: Buffer, maxBytes: number = LINES_BYTES_MAX): Promise<Buffer> {
  return inflate(bytes, { maxOutputLength: maxBytes })
}

/** The lines as a stream, which decodes only what is read. It fails when they are damaged. */
export function unpackSlowly(bytes: Buffer): InflateRaw {
  const stream = createInflateRaw()
  stream.end(bytes)
  return stream
}
