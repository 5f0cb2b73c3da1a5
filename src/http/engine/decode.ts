import { isUtf8 } from 'node:buffer'
import { gunzipSync } from 'node:zlib'
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

/**
 * The body as text. A byte order mark at its start is left out.
 * @param encoding one that `assertEncoding` accepts
 * @param maxBytes limit of the decoded size; decoding stops there
 * @throws HttpError 400 when it is broken, 413 when it is too large
 */
export function decodeText(body: Buffer, encoding: string, maxBytes: number): string {
  const plain = encoding.endsWith('gzip') ? gunzip(body, maxBytes) : body
  if (!isUtf8(plain)) throw new HttpError(400, 'the body is not UTF-8')
  const text = plain.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

export function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, `the body is larger than ${maxBytes} bytes`)
}

function gunzip(body: Buffer, maxBytes: number): Buffer {
  if (body.length === 0) throw new HttpError(400, 'the body is empty')
  try {
    return gunzipSync(body, { maxOutputLength: maxBytes })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes)
    throw new HttpError(400, 'the body is not gzip, or is cut off')
  }
}
