import { InputError } from '../../../../run/errors.ts'

/** Whether a label is in the WHATWG Encoding Standard. */
export function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== ''
  } catch {
    return false
  }
}

/**
 * Converts a text to UTF-8 without a byte order mark.
 * @param encoding undefined: UTF-8 or UTF-16, detected from the first bytes
 * @throws InputError for UTF-32
 */
export async function* inUtf8(source: AsyncIterable<Buffer>, encoding: string | undefined): AsyncGenerator<Buffer> {
  const [head, all] = await peek(source, 4)
  const label = encoding ?? utf16Of(head)
  if (label === undefined) {
    let skip = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0
    for await (const chunk of all) {
      yield chunk.subarray(skip)
      skip = 0
    }
    return
  }
  const decoder = new TextDecoder(label)
  for await (const chunk of all) yield Buffer.from(decoder.decode(chunk, { stream: true }))
  yield Buffer.from(decoder.decode())
}

/** Detects UTF-16 by its byte order mark, or by zeros in its first two characters: a header or event starts with ASCII. */
function utf16Of(head: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const [a, b, c, d] = head
  const isUtf32 = a === 0xff ? b === 0xfe && c === 0 && d === 0 : a === 0 && b === 0
  if (isUtf32 && head.length >= 4) throw new InputError('the file is UTF-32 or not text: save it as UTF-8')
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  if (a === 0xfe && b === 0xff) return 'utf-16be'
  if (head.length < 4) return undefined
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return 'utf-16le'
  return a === 0 && b !== 0 && c === 0 && d !== 0 ? 'utf-16be' : undefined
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Whether lines end with carriage returns only, as some spreadsheets write them. @param start of the text */
export function endsLinesWithReturns(start: Buffer): boolean {
  const at = start.indexOf(CARRIAGE_RETURN)
  // The last byte may be half of a line end.
  return at >= 0 && at < start.length - 1 && !start.includes(LINE_FEED)
}

/** Returns a copy with line feeds in place of carriage returns. */
export function withLineFeeds(text: Buffer): Buffer {
  const copy = Buffer.from(text)
  for (let at = copy.indexOf(CARRIAGE_RETURN); at >= 0; at = copy.indexOf(CARRIAGE_RETURN, at + 1)) copy[at] = LINE_FEED
  return copy
}

/** Reads at least the given number of bytes, unless the source is shorter. Returns them, and the whole source. */
export async function peek(
  source: AsyncIterable<Buffer>,
  bytes: number,
): Promise<[head: Buffer, all: AsyncIterable<Buffer>]> {
  const iterator = source[Symbol.asyncIterator]()
  const chunks: Buffer[] = []
  let size = 0
  while (size < bytes) {
    const next = await iterator.next()
    if (next.done) break
    chunks.push(next.value)
    size += next.value.length
  }
  const head = Buffer.concat(chunks)
  async function* all(): AsyncGenerator<Buffer> {
    yield head
    yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return [head, all()]
}
