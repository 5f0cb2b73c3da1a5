import { isUtf8 } from 'node:buffer'
import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import zlib, { constants, type ZlibOptions } from 'node:zlib'
import { HttpError } from './http-error.ts'

/** How a body is compressed. */
export type Coding = 'gzip' | 'deflate' | 'raw deflate' | 'br' | 'zstd'

interface Decoder {
  sync(bytes: Buffer, options: ZlibOptions): Buffer
  inThread(bytes: Buffer, options: ZlibOptions): Promise<Buffer>
  stream(options: ZlibOptions): Transform
  /** The value of `finishFlush` for input whose end is missing. */
  readonly partFlush: number
}

type Callback = (error: Error | null, result: Buffer) => void
type Decompress = (bytes: Buffer, options: object, callback: Callback) => void

function decoder(
  sync: (bytes: Buffer, options: object) => Buffer,
  decompress: Decompress,
  stream: (options: object) => Transform,
  partFlush: number,
): Decoder {
  return { sync, inThread: promisify<Buffer, object, Buffer>(decompress), stream, partFlush }
}

/** Node.js has zstd since 22.15. Older type declarations lack it. */
interface ZstdPackage {
  readonly zstdDecompressSync?: (bytes: Buffer, options: object) => Buffer
  readonly zstdDecompress?: Decompress
  readonly createZstdDecompress?: (options: object) => Transform
  readonly constants: { readonly ZSTD_d_windowLogMax?: number; readonly ZSTD_e_flush?: number }
}
/** The window of a standard stream of Brotli: RFC 7932, 9.1. */
const BROTLI_WINDOW_LOG_MAX = 24
/** The window that RFC 9659 allows in HTTP: 8 MB. Without a limit a few bytes could ask for 128 MB. */
const ZSTD_WINDOW_LOG_MAX = 23

/** The result with the option `info`. */
interface WithInfo {
  readonly buffer: Buffer
  readonly engine: { readonly bytesWritten: number }
}

/** Node.js reads the first frame of zstd and ignores the others. To answer 200 to them would lose events. */
class SeveralFramesError extends Error {
  readonly code = 'ZSTD_SEVERAL_FRAMES'
}

/**
 * @param read bytes that a decoder has read
 * @param sent bytes that were given to it
 * @throws an error of `isDecoderError` when some are left
 */
export function assertRead(read: number, sent: number): void {
  if (read < sent) throw new SeveralFramesError()
}

function zstdDecoder(): Decoder | undefined {
  const { zstdDecompressSync, zstdDecompress, createZstdDecompress, constants: codes } = zlib as unknown as ZstdPackage
  if (zstdDecompressSync === undefined) return undefined
  const limited = (options: object) => ({ ...options, params: { [codes.ZSTD_d_windowLogMax!]: ZSTD_WINDOW_LOG_MAX } })
  return decoder(
    (bytes, options) => {
      const { buffer, engine } = zstdDecompressSync(bytes, { ...limited(options), info: true }) as unknown as WithInfo
      assertRead(engine.bytesWritten, bytes.length)
      return buffer
    },
    (bytes, options, callback) =>
      zstdDecompress!(bytes, { ...limited(options), info: true }, (error, result) => {
        if (error !== null) return callback(error, result)
        const { buffer, engine } = result as unknown as WithInfo
        callback(engine.bytesWritten < bytes.length ? new SeveralFramesError() : null, buffer)
      }),
    (options) => createZstdDecompress!(limited(options)),
    codes.ZSTD_e_flush!,
  )
}

const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = constants
const ZSTD = zstdDecoder()
const DECODERS: Readonly<Record<Coding, Decoder | undefined>> = {
  gzip: decoder(zlib.gunzipSync, zlib.gunzip, zlib.createGunzip, Z_SYNC_FLUSH),
  deflate: decoder(zlib.inflateSync, zlib.inflate, zlib.createInflate, Z_SYNC_FLUSH),
  'raw deflate': decoder(zlib.inflateRawSync, zlib.inflateRaw, zlib.createInflateRaw, Z_SYNC_FLUSH),
  br: decoder(zlib.brotliDecompressSync, zlib.brotliDecompress, zlib.createBrotliDecompress, BROTLI_OPERATION_FLUSH),
  zstd: ZSTD,
}

/**
 * Most decoded bytes that a decoder keeps to repeat them. Those of gzip and deflate are 32 KB, as few as the pieces that it passes on, and
 * not counted. Only bodies that are streamed count the others: of whole bodies two are decoded at a time.
 */
export function windowMaxBytes(coding: Coding): number {
  if (coding === 'br') return 2 ** BROTLI_WINDOW_LOG_MAX
  return coding === 'zstd' ? 2 ** ZSTD_WINDOW_LOG_MAX : 0
}

/** Values of `content-encoding` that every body may have. */
const GZIP = ['gzip', 'x-gzip']
const PLAIN = ['', 'identity']
/** Other values, which only bodies of sources may have. */
const OTHERS = ['deflate', 'br', ...(ZSTD === undefined ? [] : ['zstd'])]

/**
 * @param all whether every coding of senders is supported, and not only gzip
 * @throws HttpError 415 when this encoding is not supported
 */
export function assertEncoding(encoding: string, all: boolean): void {
  const names = all ? ['gzip', ...OTHERS] : ['gzip']
  if (PLAIN.includes(encoding) || GZIP.includes(encoding) || (all && OTHERS.includes(encoding))) return
  const hint = encoding === 'zstd' && all ? '; zstd needs Node.js 22.15 or newer on the server' : ''
  throw new HttpError('unsupported_encoding', `content-encoding must be ${names.join(' or ')}, or left out${hint}`, {
    headers: { 'accept-encoding': [...names, 'identity'].join(', ') },
  })
}

const GZIP_MAGIC = [0x1f, 0x8b]
const ZSTD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd]
/** Bytes of a body that say how it is compressed. */
export const CODING_BYTES = ZSTD_MAGIC.length

/**
 * How a body is compressed; undefined when it is not.
 * @param encoding one that `assertEncoding` accepts
 * @param all see `assertEncoding`; then gzip and zstd are found by the first bytes, because libraries send them without saying so
 * @param start the first `CODING_BYTES`, or all of a shorter body
 * @throws HttpError 415 for zstd where Node.js has none
 */
export function codingOf(encoding: string, all: boolean, start: Uint8Array): Coding | undefined {
  if (!all) return GZIP.includes(encoding) ? 'gzip' : undefined
  // A body of Brotli may begin as they do; no text does, and no deflate.
  if (encoding === 'br') return 'br'
  if (start.length > 2 && beginsWith(start, GZIP_MAGIC)) return 'gzip'
  if (beginsWith(start, ZSTD_MAGIC) || encoding === 'zstd') {
    assertEncoding('zstd', true)
    return 'zstd'
  }
  if (encoding !== 'deflate') return undefined
  // RFC 9110 means the format of zlib. Some senders leave out its two bytes.
  const [first = 0x78, second = 0x9c] = start
  return (first & 15) === 8 && (first * 256 + second) % 31 === 0 ? 'deflate' : 'raw deflate'
}

function beginsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, i) => bytes[i] === byte)
}

/** Runs work of another thread in its turn. */
export type Decoding = <T>(work: () => Promise<T>) => Promise<T>

/**
 * The body as text. A byte order mark at its start is left out. A compressed body of more than a few kilobytes is decoded in another thread.
 * @param coding from `codingOf`
 * @param maxBytes limit of the decoded size; decoding stops there
 * @throws HttpError 400 when it is broken, 413 when it is too large
 */
export function decodeText(
  body: Buffer,
  coding: Coding | undefined,
  maxBytes: number,
  decoding: Decoding,
): string | Promise<string> {
  if (coding === undefined) return utf8(body)
  if (body.length === 0) throw new HttpError('empty_body', 'the body is empty')
  const small = smallText([body], coding, maxBytes)
  if (small !== undefined) return small
  // The memory of the body is lent until the turn ends.
  const copy = Buffer.from(body)
  const options = { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES }
  return decoding(() => DECODERS[coding]!.inThread(copy, options)).then(utf8, (error) => {
    throw isDecoderError(error) ? brokenBody(error, coding, maxBytes) : error
  })
}

export function tooLarge(maxBytes: number): HttpError {
  return new HttpError('body_too_large', `the body is larger than ${maxBytes} bytes`)
}

/** Size that is decoded at once: that takes less time than to wait for another thread. */
const SMALL_BYTES = 65_536
const CHUNK_BYTES = 262_144

/**
 * The text of a small compressed body, decoded at once. Undefined: it is not small.
 * @throws HttpError 400 or 413
 */
export function smallText(pieces: readonly Uint8Array[], coding: Coding, maxBytes: number): string | undefined {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (bytes > SMALL_BYTES || (coding === 'gzip' && !saysSmall(pieces.at(-1)!))) return undefined
  try {
    const limit = Math.min(SMALL_BYTES, maxBytes)
    return utf8(DECODERS[coding]!.sync(Buffer.concat(pieces), { maxOutputLength: limit }))
  } catch (error) {
    if (isTooLong(error) && maxBytes > SMALL_BYTES) return undefined
    throw isDecoderError(error) ? brokenBody(error, coding, maxBytes) : error
  }
}

/** Whether gzip says that it is small, in its last four bytes: the size of the last of its members. */
function saysSmall(end: Uint8Array): boolean {
  if (end.length < 4) return false
  return new DataView(end.buffer, end.byteOffset + end.length - 4).getUint32(0, true) <= SMALL_BYTES
}

/**
 * Decodes bytes that are written to it. Its errors are those of `isDecoderError`.
 * @param isPart whether the input may be the beginning of a body
 */
export function decoderOf(coding: Coding, chunkSize: number, isPart = false): Transform {
  const { stream, partFlush } = DECODERS[coding]!
  return stream({ chunkSize, ...(isPart && { finishFlush: partFlush }) })
}

function utf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new HttpError('not_utf8', 'the body is not UTF-8')
  const text = bytes.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** The response to a body that a decoder refused. */
export function brokenBody(error: unknown, coding: Coding, maxBytes: number): HttpError {
  if (isTooLong(error)) return tooLarge(maxBytes)
  if (error instanceof SeveralFramesError) {
    return new HttpError('broken_encoding', 'the body has several zstd frames: send one, or use gzip')
  }
  return new HttpError(
    'broken_encoding',
    `the body is not ${coding === 'raw deflate' ? 'deflate' : coding}, or is cut off`,
  )
}

function isTooLong(error: unknown): boolean {
  return codeOf(error) === 'ERR_BUFFER_TOO_LARGE'
}

/** Whether a decoder threw an error because of its input. */
export function isDecoderError(error: unknown): boolean {
  return isTooLong(error) || /^(?:Z_|ERR__ERROR_|ZSTD_)/.test(codeOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
