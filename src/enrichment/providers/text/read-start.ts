import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { InputError } from '../../../run/errors.ts'
import { firstContentLine, LINE_BYTES_MAX, withoutMark } from './text-file.ts'

/** Bytes in which the first line is looked for. */
const START_BYTES_MAX = LINE_BYTES_MAX

/**
 * The first line of a file, plain or gzip, that is neither blank nor a comment. Reads only the start of the file.
 * @returns undefined when the start has none, or only a part of one
 */
export async function readStart(path: string): Promise<string | undefined> {
  let start = Buffer.alloc(0)
  for await (const chunk of await unzipped(path)) {
    start = Buffer.concat([start, chunk])
    const lines = start.lastIndexOf('\n')
    const line = lines < 0 ? undefined : firstContentLine(withoutMark(start.subarray(0, lines)))
    if (line !== undefined) return line
    if (start.length > START_BYTES_MAX) return undefined
  }
  return firstContentLine(withoutMark(start))
}

const CHUNK_BYTES = 262_144
const MAGIC_BYTES = 2

/** The bytes of a file, plain or gzip. @throws InputError when it cannot be decompressed */
export async function unzipped(path: string): Promise<AsyncIterable<Buffer>> {
  const isZipped = await isGzip(path)
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  if (!isZipped) return file
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  // The reader of `gunzip` gets the errors.
  pipeline(file, gunzip, () => {})
  return decompressed(gunzip)
}

async function* decompressed(gunzip: Readable): AsyncGenerator<Buffer> {
  try {
    yield* gunzip
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(`the file cannot be decompressed: ${(error as Error).message}`)
  }
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0)
    return buffer.subarray(0, bytesRead).equals(Buffer.from([0x1f, 0x8b]))
  } finally {
    await file.close()
  }
}
