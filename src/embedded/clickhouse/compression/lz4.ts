import lz4 from 'lz4-napi'
import { Code, Exception } from '../exception.ts'
import type { MemoryShare } from '../memory-budget.ts'
import { PieceReader } from './piece-reader.ts'

/* LZ4: single blocks, and frames for `Content-Encoding: lz4`, the default of ClickHouse's Python client. */

/** A frame starts with this number and two bytes of flags. The bits below are in the first byte. */
const MAGIC = 0x184d2204
const HEAD_BYTES = 6
const FLAGS = { independent: 0x20, blockChecksums: 0x10, contentSize: 0x08, contentChecksum: 0x04, dictionary: 0x01 }

/** The bit in a block's size that marks uncompressed data. */
const RAW = 0x80000000
/** How far back a block may refer to previous blocks. */
const WINDOW_BYTES = 65_536

/** Compresses a block. The package prefixes its size, which is removed here. */
export async function lz4Block(data: Buffer): Promise<Buffer> {
  return (await lz4.compress(data)).subarray(4)
}

/**
 * Decompresses a block. The package's function returns memory that V8 does not count and so frees too late.
 * @param output previous data up to `from`, followed by room for the result
 * @returns end of the result
 * @throws Error when the block is invalid, or its result does not fit
 */
export function unlz4(block: Buffer, output: Buffer, from: number): number {
  const input = { bytes: block, at: 0 }
  let to = from
  while (input.at < block.length) {
    const token = block[input.at++]!
    const literals = lengthOf(input, token >> 4)
    if (input.at + literals > block.length || to + literals > output.length) throw new Error('literals out of bounds')
    block.copy(output, to, input.at, input.at + literals)
    input.at += literals
    to += literals
    if (input.at === block.length) return to
    const distance = block[input.at]! | (block[input.at + 1]! << 8)
    input.at += 2
    const length = lengthOf(input, token & 15) + 4
    if (input.at > block.length || distance === 0 || distance > to || to + length > output.length) {
      throw new Error('a copy out of bounds')
    }
    copyBack(output, to, distance, length)
    to += length
  }
  if (block.length === 0) return to
  throw new Error('no literals at its end')
}

function lengthOf(input: { readonly bytes: Buffer; at: number }, nibble: number): number {
  let length = nibble
  for (let more = nibble === 15 ? 255 : 0; more === 255; ) {
    more = input.bytes[input.at++] ?? 0
    length += more
  }
  return length
}

/** Source and target of a copy may overlap; the data then repeat. */
function copyBack(output: Buffer, to: number, distance: number, length: number): void {
  let [done, step] = [0, distance]
  while (done < length) {
    const bytes = Math.min(step, length - done)
    output.copyWithin(to + done, to - distance, to - distance + bytes)
    done += bytes
    step += bytes
  }
}

/**
 * Decodes a sequence of LZ4 frames. Ignores their checksums.
 * @param memory accounts for the current block
 * @throws Exception when the frames are invalid or truncated
 */
export async function* decodeLz4(chunks: AsyncIterable<Buffer>, memory: MemoryShare): AsyncGenerator<Buffer> {
  const input = new PieceReader(chunks, memory)
  const decoder = new FrameDecoder(input)
  try {
    for (let head = await input.take(HEAD_BYTES); head !== undefined; head = await input.take(HEAD_BYTES)) {
      yield* decoder.decode(head)
    }
    if (input.isCutOff) throw broken('it ends within a frame')
  } finally {
    await input.leave()
  }
}

class FrameDecoder {
  readonly #input: PieceReader
  /** Data that blocks may refer to, followed by room for a block. */
  #window = Buffer.alloc(0)

  constructor(input: PieceReader) {
    this.#input = input
  }

  async *decode(head: Buffer): AsyncGenerator<Buffer> {
    const [flags, blockBytesMax] = [head[4]!, blockBytesOf(head)]
    if (flags & FLAGS.dictionary) throw broken('it needs a dictionary')
    // Skip the size of the content and the checksum of the head.
    await this.#take((flags & FLAGS.contentSize ? 8 : 0) + 1)
    if (this.#window.length < WINDOW_BYTES + blockBytesMax) {
      this.#window = Buffer.allocUnsafe(WINDOW_BYTES + blockBytesMax)
    }
    for (let from = 0; ; ) {
      const size = (await this.#take(4)).readUInt32LE(0)
      if (size === 0) break
      const bytes = size % RAW
      if (bytes > blockBytesMax) throw broken('a block is larger than the frame states')
      const block = await this.#take(bytes, this.#window.length)
      const room = this.#window.subarray(0, from + blockBytesMax)
      const end = size >= RAW ? from + block.copy(room, from) : decodeBlock(block, room, from)
      if (flags & FLAGS.blockChecksums) await this.#take(4)
      yield Buffer.from(room.subarray(from, end))
      if (flags & FLAGS.independent) continue
      this.#window.copyWithin(0, Math.max(0, end - WINDOW_BYTES), end)
      from = Math.min(end, WINDOW_BYTES)
    }
    if (flags & FLAGS.contentChecksum) await this.#take(4)
  }

  async #take(bytes: number, extraBytes = 0): Promise<Buffer> {
    const piece = await this.#input.take(bytes, extraBytes)
    if (piece === undefined) throw broken('it ends within a frame')
    return piece
  }
}

function decodeBlock(block: Buffer, room: Buffer, from: number): number {
  try {
    return unlz4(block, room, from)
  } catch (error) {
    throw broken((error as Error).message)
  }
}

/** 64 KiB, 256 KiB, 1 MiB or 4 MiB. */
function blockBytesOf(head: Buffer): number {
  if (head.readUInt32LE(0) !== MAGIC || head[4]! >> 6 !== 1) throw broken('it does not begin with a frame')
  const size = (head[5]! >> 4) & 7
  if (size < 4) throw broken('its blocks have an unknown size')
  return 2 ** (8 + 2 * size)
}

function broken(what: string): Exception {
  return new Exception(
    Code.CannotDecompress,
    `The body is not LZ4, although Content-Encoding states it: ${what}. (CANNOT_DECOMPRESS)`,
  )
}
