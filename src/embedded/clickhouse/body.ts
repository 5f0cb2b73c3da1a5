import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { Code, Exception } from './exception.ts'

/** Bytes that all request bodies together may take. */
export class BodyMemory {
  readonly bodyBytesMax: number
  #freeBytes: number

  constructor(bodyBytesMax: number, totalBytesMax: number) {
    this.bodyBytesMax = bodyBytesMax
    this.#freeBytes = totalBytesMax
  }

  take(bytes: number): void {
    if (bytes > this.#freeBytes) {
      const message = 'Too many bytes of requests wait in memory; try again later. (MEMORY_LIMIT_EXCEEDED)'
      throw new Exception(Code.MemoryLimitExceeded, message)
    }
    this.#freeBytes -= bytes
  }

  giveBack(bytes: number): void {
    this.#freeBytes += bytes
  }
}

/**
 * Reads and decodes a body. The caller gives its bytes back to `memory`.
 * @throws Exception when it is too large, or in an encoding that is not understood
 */
export async function readBody(request: IncomingMessage, memory: BodyMemory): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of decoded(request) as AsyncIterable<Buffer>) {
      if (bytes + chunk.length > memory.bodyBytesMax) {
        const message = `The request is larger than ${memory.bodyBytesMax} bytes: send it in parts. (QUERY_IS_TOO_LARGE)`
        throw new Exception(Code.QueryIsTooLarge, message)
      }
      memory.take(chunk.length)
      bytes += chunk.length
      chunks.push(chunk)
    }
  } catch (error) {
    memory.giveBack(bytes)
    if (error instanceof Exception) throw error
    throw new Exception(Code.Aborted, `Cannot read the request: ${(error as Error).message} (ABORTED)`, {
      cause: error,
    })
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)
}

function decoded(request: IncomingMessage): Readable {
  const encoding = (request.headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding === 'identity' || encoding === '') return request
  const decoder = decoderOf(encoding)
  // Errors arrive where the decoder is read.
  pipeline(request, decoder, () => {})
  return decoder
}

function decoderOf(encoding: string) {
  switch (encoding) {
    case 'gzip':
      return createGunzip()
    case 'deflate':
      return createInflate()
    case 'br':
      return createBrotliDecompress()
    default:
      throw new Exception(
        Code.UnknownCompressionMethod,
        `Unknown compression method ${encoding}: the embedded ClickHouse knows gzip, deflate and br. (UNKNOWN_COMPRESSION_METHOD)`,
      )
  }
}
