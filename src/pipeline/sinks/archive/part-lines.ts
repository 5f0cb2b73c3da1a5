import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { ObjectStore } from '../../../stores/objects/object-store.ts'
import { GZIP_LEVEL } from './destination.ts'

const LINE_FEED = 10
const CHUNK_BYTES = 262_144

/** The lines of an object, each with its line feed; undefined if the object does not exist. */
export async function linesOf(store: ObjectStore, key: string): Promise<AsyncGenerator<Buffer> | undefined> {
  const content = await store.get(key)
  if (content === undefined) return undefined
  const text = createGunzip({ chunkSize: CHUNK_BYTES })
  // The reader of the lines gets the errors.
  pipeline(content, text).catch(() => {})
  return splitLines(text)
}

async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end + 1)])
      rest = []
      start = end + 1
    }
    if (start < chunk.length) rest.push(chunk.subarray(start))
  }
  if (rest.length > 0) yield Buffer.concat(rest)
}

/** Compresses lines into the content of an object. Holds only compressed bytes in memory. */
export async function compressed(lines: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: CHUNK_BYTES })
  await pipeline(lines, gzip, async (bytes: AsyncIterable<Buffer>) => {
    for await (const chunk of bytes) chunks.push(chunk)
  })
  return Buffer.concat(chunks)
}
