import lz4 from 'lz4-napi'
import { Code, Exception } from '../exception.ts'
import type { MemoryShare } from '../memory-budget.ts'
import { PieceReader } from './piece-reader.ts'

/** LZ4: single blocks, and the frames of HTTP's `Content-Encoding: lz4`, which ClickHouse's Python client sends by default. */

/** Of a frame: this number, then two bytes of flags, of which the first has these bits. */
const MAGIC = 0x184d2204
const HEAD_BYTES = 6
const FLAGS = { independent: 0x20, blockChecksums: 0x10, contentSize: 0x08, contentChecksum: 0x04, dictionary: 0x01 }

/** Of a block's size: it is not compressed. */
const RAW = 0x80000000
/** How far back a block may point into the ones before it. */
const WINDOW_BYTES = 65_536

/** The package puts the size before a block. */
export async function lz4Block(data: Buffer): Promise<Buffer> {
  return (await lz4.compress(data)).subarray(4)
}

/**
 * @param bytesMax of the data
 * @param before data that the block may point into
 * @throws when it is no block, or holds more
 */
export async function unlz4(block: Buffer, bytesMax: number, before?: Buffer): Promise<Buffer> {
  if (bytesMax === 0) return Buffer.alloc(0)
  const size = Buffer.allocUnsafe(4)
  size.writeUInt32LE(bytesMax)
  return await lz4.uncompress(Buffer.concat([size, block]), before)
}

/**
 * Reads LZ4 frames, one after another. Their checksums are not compared.
 * @param memory for the block in hand
 * @throws Exception when they are none, or cut off
 */
export async function* decodeLz4(chunks: AsyncIterable<Buffer>, memory: MemoryShare): AsyncGenerator<Buffer> {
  const input = new PieceReader(chunks, memory)
  try {
    for (let head = await input.take(HEAD_BYTES); head !== undefined; head = await input.take(HEAD_BYTES)) {
      yield* decodeFrame(input, head)
    }
    if (input.isCutOff) throw broken('it ends within a frame')
  } finally {
    await input.leave()
  }
}

async function* decodeFrame(input: PieceReader, head: Buffer): AsyncGenerator<Buffer> {
  const [flags, blockBytesMax] = [head[4]!, blockBytesOf(head[5]!)]
  if (head.readUInt32LE(0) !== MAGIC || flags >> 6 !== 1) throw broken('it does not begin with a frame')
  if ((flags & FLAGS.dictionary) !== 0) throw broken('it needs a dictionary')
  // The size of the content, and a checksum of the head.
  await take(input, ((flags & FLAGS.contentSize) !== 0 ? 8 : 0) + 1)
  let before = Buffer.alloc(0)
  for (;;) {
    const size = (await take(input, 4)).readUInt32LE(0)
    if (size === 0) break
    const bytes = size & ~RAW
    if (bytes > blockBytesMax) throw broken('a block is larger than the frame says')
    const block = await take(input, bytes, blockBytesMax)
    const data = size >>> 31 === 1 ? block : await decodeBlock(block, blockBytesMax, before)
    if ((flags & FLAGS.blockChecksums) !== 0) await take(input, 4)
    if ((flags & FLAGS.independent) === 0) before = Buffer.concat([before, data]).subarray(-WINDOW_BYTES)
    yield data
  }
  if ((flags & FLAGS.contentChecksum) !== 0) await take(input, 4)
}

async function decodeBlock(block: Buffer, bytesMax: number, before: Buffer): Promise<Buffer> {
  try {
    return await unlz4(block, bytesMax, before.length === 0 ? undefined : before)
  } catch (error) {
    throw broken((error as Error).message)
  }
}

/** 64 KiB, 256 KiB, 1 MiB or 4 MiB. */
function blockBytesOf(descriptor: number): number {
  const size = (descriptor >> 4) & 7
  if (size < 4) throw broken('its blocks have an unknown size')
  return 2 ** (8 + 2 * size)
}

async function take(input: PieceReader, bytes: number, extraBytes = 0): Promise<Buffer> {
  const piece = await input.take(bytes, extraBytes)
  if (piece === undefined) throw broken('it ends within a frame')
  return piece
}

function broken(what: string): Exception {
  return new Exception(
    Code.CannotDecompress,
    `The body is not LZ4, which Content-Encoding says it is: ${what}. (CANNOT_DECOMPRESS)`,
  )
}
