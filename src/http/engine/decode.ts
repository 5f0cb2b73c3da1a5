import { isUtf8 } from 'node:buffer'
import { promisify } from 'node:util'
import { gunzip, gunzipSync } from 'node:zlib'
import { HttpError } from './http-error.ts'

/** Supported values of `content-encoding`. */
const ENCODINGS = new Set(['', 'identity', 'gzip', 'x-gzip'])

/** @throws HttpError 415 when this encoding is not supported */
export function assertEncoding(encoding: string): void {
  if (ENCODINGS.has(encoding)) return
  throw new HttpError(415, 'content-encoding must be gzip, or left out', {
    headers: { 'accept-encoding': 'gzip, identity' },
  })
}

/** Runs work of another thread in its turn. */
export type Decoding = <T>(work: () => Promise<T>) => Promise<T>

/**
 * The body as text. A byte order mark at its start is left out. Gzip of more than a few kilobytes is decoded in another thread.
 * @param encoding one that `assertEncoding` accepts
 * @param maxBytes limit of the decoded size; decoding stops there
 * @throws HttpError 400 when it is broken, 413 when it is too large
 */
export function decodeText(
  body: Buffer,
  encoding: string,
  maxBytes: number,
  decoding: Decoding,
): string | Promise<string> {
  if (!encoding.endsWith('gzip')) return utf8(body)
  if (body.length === 0) throw new HttpError(400, 'the body is empty')
  const small = smallGzipText([body], maxBytes)
  if (small !== undefined) return small
  // The memory of the body is lent until the turn ends.
  const copy = Buffer.from(body)
  return decoding(() => gunzipInThread(copy, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES })).then(
    utf8,
    (error) => {
      throw isZlibError(error) ? gzipError(error, maxBytes) : error
    },
  )
}

export function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, `the body is larger than ${maxBytes} bytes`)
}

const GZIP_MAGIC = [0x1f, 0x8b]

/** Whether bytes begin as gzip does, and no text. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes.length > 2 && GZIP_MAGIC.every((byte, i) => bytes[i] === byte)
}

/** Size that is decoded at once: that takes less time than to wait for another thread. */
const SMALL_BYTES = 65_536
const CHUNK_BYTES = 262_144

/**
 * The text of small gzip, decoded at once. Undefined: it is not small.
 * @throws HttpError 400 or 413
 */
export function smallGzipText(pieces: readonly Uint8Array[], maxBytes: number): string | undefined {
  const plain = isSmallGzip(pieces) ? gunzipSmall(Buffer.concat(pieces), maxBytes) : undefined
  return plain && utf8(plain)
}

/** Whether gzip says that it is small, in its last four bytes. It may be wrong. */
function isSmallGzip(pieces: readonly Uint8Array[]): boolean {
  let bytes = 0
  for (const piece of pieces) bytes += piece.length
  const end = pieces.at(-1)!
  if (bytes > SMALL_BYTES || end.length < 4) return false
  return new DataView(end.buffer, end.byteOffset + end.length - 4).getUint32(0, true) <= SMALL_BYTES
}

/** Undefined: it is not small. The size in gzip is that of the last of several members. */
function gunzipSmall(body: Buffer, maxBytes: number): Buffer | undefined {
  try {
    return gunzipSync(body, { maxOutputLength: Math.min(SMALL_BYTES, maxBytes) })
  } catch (error) {
    if (isTooLong(error) && maxBytes > SMALL_BYTES) return undefined
    throw gzipError(error, maxBytes)
  }
}

const gunzipInThread = promisify<Buffer, object, Buffer>(gunzip)

function utf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new HttpError(400, 'the body is not UTF-8')
  const text = bytes.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

function gzipError(error: unknown, maxBytes: number): HttpError {
  return isTooLong(error) ? tooLarge(maxBytes) : new HttpError(400, 'the body is not gzip, or is cut off')
}

function isTooLong(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}

/** Whether zlib threw an error because of its input. */
export function isZlibError(error: unknown): boolean {
  return isTooLong(error) || (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))
}
