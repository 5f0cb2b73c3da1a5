import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { InputError } from '../../../run/errors.ts'

const unzip = promisify(gunzip)
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Decompresses gzip, asserts UTF-8, and strips a byte order mark.
 * @param bytesMax limit after decompression
 * @throws InputError with the reason
 */
export async function decodeText(bytes: Buffer, bytesMax: number): Promise<Buffer> {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b
  const text = isGzip ? await decompress(bytes, bytesMax) : bytes
  if (text.length > bytesMax) throw tooLarge(bytesMax)
  if (text.length === 0) throw new InputError('the file is empty')
  if (!isUtf8(text)) throw new InputError('the file is not UTF-8')
  return withoutMark(text)
}

/** The bytes after a byte order mark. */
export function withoutMark(text: Buffer): Buffer {
  return text.subarray(0, 3).equals(BYTE_ORDER_MARK) ? text.subarray(3) : text
}

async function decompress(bytes: Buffer, bytesMax: number): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: bytesMax })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(bytesMax)
    throw new InputError(`the file cannot be decompressed: ${(error as Error).message}`)
  }
}

function tooLarge(bytesMax: number): InputError {
  return new InputError(`the file is larger than ${bytesMax} bytes`)
}

const LINE_FEED = 10
/** Longest line. A longer one cannot be data, and would block the event loop. */
export const LINE_BYTES_MAX = 1_048_576

/**
 * Lines without their endings, numbered from 1.
 * @throws InputError with the number of a line that is too long
 */
export function* linesOf(
  text: Buffer,
  bytesMax = LINE_BYTES_MAX,
): Generator<{ readonly line: number; readonly text: string }> {
  for (let at = 0, line = 1; at < text.length; line++) {
    const found = text.indexOf(LINE_FEED, at)
    const end = found < 0 ? text.length : found
    if (end - at > bytesMax) throw lineError(line, `longer than ${bytesMax} bytes`)
    yield { line, text: text.toString('utf8', at, end).replace(/\r$/, '') }
    at = end + 1
  }
}

const LINES_AT_A_TIME = 2_000

/** As `linesOf`. Yields to other work. */
export async function* pacedLines(text: Buffer): AsyncGenerator<{ readonly line: number; readonly text: string }> {
  for (const numbered of linesOf(text)) {
    if (numbered.line % LINES_AT_A_TIME === 0) await setImmediate()
    yield numbered
  }
}

/** The first line that is neither blank nor a comment. */
export function firstContentLine(text: Buffer): string | undefined {
  for (const { text: content } of linesOf(text)) {
    if (content.trim() !== '' && !content.startsWith('#')) return content
  }
  return undefined
}

/** Chunks small enough to be parsed without blocking the event loop. */
export function* chunksOf(text: Buffer, bytes = 65_536): Generator<Buffer> {
  for (let at = 0; at < text.length; at += bytes) yield text.subarray(at, at + bytes)
}

/** An error with the message `line 7: reason`. */
export function lineError(line: number, reason: string): InputError {
  return new InputError(`line ${line}: ${reason}`)
}
