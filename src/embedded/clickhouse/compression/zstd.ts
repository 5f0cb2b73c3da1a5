import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { Code, Exception } from '../exception.ts'

/**
 * Node.js has zstd since 22.15; the installed types are those of 20. Rejected for older versions: fzstd, which copies its whole
 * window after each block, so that a small body of tiny blocks takes hours, and WebAssembly wrappers, which have one stream.
 */
interface WithZstd {
  createZstdCompress?: () => Transform
  createZstdDecompress?: () => Transform
  zstdDecompress?: (
    data: Buffer,
    options: { maxOutputLength: number },
    done: (error: Error | null, result: Buffer) => void,
  ) => void
}

const { createZstdCompress, createZstdDecompress, zstdDecompress } = zlib as WithZstd

export const hasZstd = createZstdCompress !== undefined

export function zstdEncoder(): Transform {
  return known(createZstdCompress)()
}

/** @throws Exception when this Node.js has no zstd */
export function zstdDecoder(): Transform {
  return known(createZstdDecompress)()
}

/**
 * @param bytesMax limit of the result
 * @throws Exception when this Node.js has no zstd
 */
export async function unzstd(data: Buffer, bytesMax: number): Promise<Buffer> {
  return await promisify(known(zstdDecompress))(data, { maxOutputLength: Math.max(bytesMax, 1) })
}

function known<T>(call: T | undefined): T {
  if (call !== undefined) return call
  const message = `The embedded ClickHouse has zstd only on Node.js 22.15 or newer, and this is ${process.version}: use gzip, br or lz4. (UNKNOWN_COMPRESSION_METHOD)`
  throw new Exception(Code.UnknownCompressionMethod, message)
}
