import type { IncomingHttpHeaders } from 'node:http'
import { pipeline, type Readable, type Transform } from 'node:stream'
import {
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createGunzip,
  createGzip,
  createInflate,
  constants as zlib,
} from 'node:zlib'
import { Code, Exception } from '../exception.ts'
import { gathered } from '../gathered.ts'
import type { MemoryShare } from '../memory-budget.ts'
import { decodeLz4 } from './lz4.ts'
import { hasZstd, zstdDecoder, zstdEncoder } from './zstd.ts'

/** What HTTP calls content codings. */

/** Encodings of a response, the cheapest first. */
const ENCODINGS = ['gzip', ...(hasZstd ? (['zstd'] as const) : []), 'br', 'deflate'] as const

export type Encoding = (typeof ENCODINGS)[number]

const GZIP_LEVEL = 3
/** The default of 11 takes a hundred times as long. */
const BROTLI_QUALITY = 3

/** @returns the encoding of a response; undefined when the client accepts none of ours */
export function acceptedEncoding(headers: IncomingHttpHeaders): Encoding | undefined {
  const names = new Set<string>()
  for (const item of String(headers['accept-encoding'] ?? '').split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
    if (!parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) names.add(name!)
  }
  return ENCODINGS.find((encoding) => names.has(encoding))
}

export function encoderOf(encoding: Encoding): Transform {
  switch (encoding) {
    case 'gzip':
      return createGzip({ level: GZIP_LEVEL })
    case 'zstd':
      return zstdEncoder()
    case 'br':
      return createBrotliCompress({ params: { [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } })
    case 'deflate':
      return createDeflate({ level: GZIP_LEVEL })
  }
}

/**
 * @param headers contain the encoding of the body
 * @param memory accounts for pieces that must be decoded in one step
 * @throws Exception for an unknown encoding
 */
export function decodedBody(body: Readable, headers: IncomingHttpHeaders, memory: MemoryShare): AsyncIterable<Buffer> {
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase()
  if (encoding === 'identity' || encoding === '') return body
  if (encoding === 'lz4') return decodeLz4(gathered(body), memory)
  const decoder = decoderOf(encoding)
  // The reader of the decoder gets the errors.
  pipeline(body, decoder, () => {})
  return decoder
}

function decoderOf(encoding: string): Transform {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'deflate':
      return createInflate()
    case 'br':
      return createBrotliDecompress()
    case 'zstd':
      return zstdDecoder()
    default: {
      const message = `Unknown compression method ${encoding}: the embedded ClickHouse knows gzip, deflate, br, lz4 and zstd. (UNKNOWN_COMPRESSION_METHOD)`
      throw new Exception(Code.UnknownCompressionMethod, message)
    }
  }
}
