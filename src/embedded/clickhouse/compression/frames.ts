import { Code, Exception } from '../exception.ts'
import type { MemoryShare } from '../memory-budget.ts'
import { cityHash128 } from './city-hash.ts'
import { lz4Block, unlz4 } from './lz4.ts'
import { PieceReader } from './piece-reader.ts'
import { unzstd } from './zstd.ts'

/**
 * ClickHouse's own compressed format (`compress=1`, `decompress=1`), the default of its JDBC driver. It is a sequence of frames:
 * a checksum of the rest (16 bytes), the method (1), the size from the method on (4), the decompressed size (4), both
 * little-endian, and the data.
 */

const CHECKSUM_BYTES = 16
const HEADER_BYTES = 9
const METHODS = { none: 0x02, lz4: 0x82, zstd: 0x90 } as const

/** Size of frames to write, as in ClickHouse. Only the last one is smaller. */
const WRITE_BYTES = 1_048_576
/** A frame is hashed in one step, which blocks for 20 ms per MiB. Clients write frames of up to 1 MiB. */
const FRAME_BYTES_MAX = 16_777_216
/** Overhead of LZ4 and zstd for incompressible data. */
const GROWTH_BYTES_MAX = 1_048_576

/** Encodes chunks into frames; no frames for empty input. */
export async function* encodeFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    waiting.push(chunk)
    bytes += chunk.length
    if (bytes < WRITE_BYTES) continue
    const block = Buffer.concat(waiting, bytes)
    waiting = []
    bytes = 0
    for (let from = 0; from < block.length; from += WRITE_BYTES) {
      yield await encodeFrame(block.subarray(from, from + WRITE_BYTES))
    }
  }
  if (bytes > 0) yield await encodeFrame(Buffer.concat(waiting, bytes))
}

/** @param data must not be empty */
export async function encodeFrame(data: Buffer): Promise<Buffer> {
  const block = await lz4Block(data)
  const frame = Buffer.allocUnsafe(CHECKSUM_BYTES + HEADER_BYTES + block.length)
  frame.writeUInt8(METHODS.lz4, CHECKSUM_BYTES)
  frame.writeUInt32LE(HEADER_BYTES + block.length, CHECKSUM_BYTES + 1)
  frame.writeUInt32LE(data.length, CHECKSUM_BYTES + 5)
  frame.set(block, CHECKSUM_BYTES + HEADER_BYTES)
  frame.set(cityHash128(frame.subarray(CHECKSUM_BYTES)), 0)
  return frame
}

/**
 * @param memory accounts for the current frame
 * @param isVerified whether to verify checksums
 * @returns the decompressed data
 * @throws Exception when the input is not frames, damaged, truncated or too large
 */
export async function* decodeFrames(
  chunks: AsyncIterable<Buffer>,
  memory: MemoryShare,
  isVerified: boolean,
): AsyncGenerator<Buffer> {
  const input = new PieceReader(chunks, memory)
  try {
    for (let index = 1; ; index++) {
      const head = await input.take(CHECKSUM_BYTES + HEADER_BYTES)
      if (head === undefined && input.isCutOff) throw cutOff()
      if (head === undefined) return
      const [frameBytes, dataBytes] = [head.readUInt32LE(CHECKSUM_BYTES + 1), head.readUInt32LE(CHECKSUM_BYTES + 5)]
      checkSizes(index, frameBytes, dataBytes)
      const block = await input.take(frameBytes - HEADER_BYTES, dataBytes)
      if (block === undefined) throw cutOff()
      if (isVerified) {
        const checksum = cityHash128(Buffer.concat([head.subarray(CHECKSUM_BYTES), block]))
        if (!checksum.equals(head.subarray(0, CHECKSUM_BYTES))) {
          throw broken(Code.ChecksumDoesntMatch, `the checksum of frame ${index} is wrong`, 'CHECKSUM_DOESNT_MATCH')
        }
      }
      yield await decompress(index, head.readUInt8(CHECKSUM_BYTES), block, dataBytes)
    }
  } finally {
    await input.leave()
  }
}

function checkSizes(index: number, frameBytes: number, dataBytes: number): void {
  if (dataBytes > FRAME_BYTES_MAX || frameBytes > FRAME_BYTES_MAX + GROWTH_BYTES_MAX) {
    const what = `frame ${index} is larger than ${FRAME_BYTES_MAX} bytes, or this is another format: send smaller frames`
    throw broken(Code.TooLargeSizeCompressed, what, 'TOO_LARGE_SIZE_COMPRESSED')
  }
  if (frameBytes >= HEADER_BYTES) return
  throw broken(Code.CannotDecompress, `frame ${index} is smaller than its header`, 'CANNOT_DECOMPRESS')
}

async function decompress(index: number, method: number, block: Buffer, dataBytes: number): Promise<Buffer> {
  const data = await dataOf(index, method, block, dataBytes)
  if (data.length === dataBytes) return data
  throw broken(Code.CannotDecompress, `frame ${index} has ${data.length} bytes, not ${dataBytes}`, 'CANNOT_DECOMPRESS')
}

async function dataOf(index: number, method: number, block: Buffer, dataBytes: number): Promise<Buffer> {
  try {
    switch (method) {
      case METHODS.none:
        return block
      case METHODS.lz4: {
        const data = Buffer.allocUnsafe(dataBytes)
        return data.subarray(0, unlz4(block, data, 0))
      }
      case METHODS.zstd:
        return await unzstd(block, dataBytes)
    }
  } catch (error) {
    if (error instanceof Exception) throw error
    throw broken(Code.CannotDecompress, `frame ${index}: ${(error as Error).message}`, 'CANNOT_DECOMPRESS')
  }
  const what = `frame ${index} has method 0x${method.toString(16).padStart(2, '0')}; known are LZ4, ZSTD and NONE`
  throw broken(Code.UnknownCompressionMethod, what, 'UNKNOWN_COMPRESSION_METHOD')
}

function cutOff(): Exception {
  return broken(Code.AttemptToReadAfterEof, 'it ends within a frame', 'ATTEMPT_TO_READ_AFTER_EOF')
}

function broken(code: number, what: string, name: string): Exception {
  const message = `The body is not in ClickHouse's compressed format, although decompress=1 states it: ${what}. (${name})`
  return new Exception(code, message)
}
