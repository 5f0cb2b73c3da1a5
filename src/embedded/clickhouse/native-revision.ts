import { Code, Exception } from './exception.ts'
import { type NativeType, nativeType } from './native-types.ts'

/**
 * FORMAT Native for clients with a revision of ClickHouse's protocol (`client_protocol_version`). chdb writes revision 0 only.
 * This adds the parts of later revisions to the stream: a block's info, a byte per column for its serialization, and the time
 * zone of DateTime columns.
 */

/** Older revisions lack LowCardinality; newer ones have another layout of strings. */
const REVISIONS = { min: 54_405, max: 54_491 }
const REVISION_OF = { customSerialization: 54_454, outOfOrderBuckets: 54_480 }

const BLOCK_INFO = [1, 0, 2, 255, 255, 255, 255]
const OUT_OF_ORDER_BUCKETS = [3, 0]
const DEFAULT_SERIALIZATION = Buffer.from([0])

const NAME_BYTES_MAX = 1_048_576

/** @throws Exception for an unsupported revision */
export function checkRevision(revision: number): void {
  const { min, max } = REVISIONS
  if (revision >= min && revision <= max) return
  const message = `The embedded ClickHouse has no client_protocol_version ${revision} for FORMAT Native, but 0 and ${min} to ${max}. (NOT_IMPLEMENTED)`
  throw new Exception(Code.NotImplemented, message)
}

/**
 * Converts a result in FORMAT Native to a revision.
 * @param chunks the result in revision 0
 * @param types types of the columns, if known: those in the blocks lack the time zone of a DateTime
 * @throws Exception for types with an unsupported layout
 */
export async function* withRevision(
  chunks: AsyncIterable<Uint8Array>,
  revision: number,
  types: readonly string[],
): AsyncGenerator<Uint8Array> {
  const passage = new Passage()
  const reading = blocks(passage, revision, types)
  for await (const chunk of chunks) {
    passage.feed(chunk)
    reading.next()
    yield* passage.takeOut()
  }
  passage.isAtEnd = true
  const { done } = reading.next()
  yield* passage.takeOut()
  if (!done) throw new Exception(Code.Unknown, 'The result ends within a block. (UNKNOWN_EXCEPTION)')
}

/** Yields when it needs another chunk. */
type Reader<T = void> = Generator<void, T, void>

function* blocks(passage: Passage, revision: number, types: readonly string[]): Reader {
  const info = Buffer.from([
    ...BLOCK_INFO,
    ...(revision >= REVISION_OF.outOfOrderBuckets ? OUT_OF_ORDER_BUCKETS : []),
    0,
  ])
  while (yield* passage.hasMore()) {
    passage.insert(info)
    const columns = yield* passage.varint()
    const rows = yield* passage.varint()
    for (let i = 0; i < columns; i++) {
      yield* passage.skip(yield* passage.varint())
      const name = yield* passage.replaceText((written) => typeName(written, types[i]))
      if (revision >= REVISION_OF.customSerialization) passage.insert(DEFAULT_SERIALIZATION)
      if (rows === 0) continue
      const type = nativeType(name)
      yield* prefix(passage, type)
      yield* values(passage, type, rows)
    }
  }
}

function typeName(written: string, known: string | undefined): string {
  return written === 'DateTime' && known?.startsWith('DateTime(') ? known : written
}

/** Skips the dictionary versions, which precede all values of the column. */
function* prefix(passage: Passage, type: NativeType): Reader {
  if (type.kind === 'lowCardinality') yield* passage.skip(8)
  else if (type.kind === 'tuple') for (const element of type.elements) yield* prefix(passage, element)
  else if (type.kind === 'array' || type.kind === 'nullable') yield* prefix(passage, type.inner)
}

function* values(passage: Passage, type: NativeType, rows: number): Reader {
  switch (type.kind) {
    case 'fixed':
      return yield* passage.skip(rows * type.bytes)
    case 'string':
      return yield* passage.skipStrings(rows)
    case 'nullable':
      yield* passage.skip(rows)
      return yield* values(passage, type.inner, rows)
    case 'tuple':
      for (const element of type.elements) yield* values(passage, element, rows)
      return
    case 'array': {
      if (rows === 0) return
      yield* passage.skip((rows - 1) * 8)
      return yield* values(passage, type.inner, yield* passage.uint64())
    }
    case 'lowCardinality': {
      if (rows === 0) return
      const flags = yield* passage.uint64()
      yield* values(passage, type.keys, yield* passage.uint64())
      const indexes = yield* passage.uint64()
      return yield* passage.skip(indexes * 2 ** (flags % 256))
    }
  }
}

/** A byte stream that passes everything on except replaced parts. */
class Passage {
  isAtEnd = false
  #chunk: Uint8Array = Buffer.alloc(0)
  /** The next position to read, and the start of the bytes that were not passed on yet. */
  #at = 0
  #from = 0
  #isDropping = false
  #out: Uint8Array[] = []

  /** The previous chunk must have been read completely. */
  feed(chunk: Uint8Array): void {
    this.#chunk = chunk
    this.#at = 0
    this.#from = 0
  }

  takeOut(): Uint8Array[] {
    this.#handOn()
    const out = this.#out
    this.#out = []
    return out
  }

  insert(bytes: Uint8Array): void {
    this.#handOn()
    this.#out.push(bytes)
  }

  *hasMore(): Reader<boolean> {
    while (this.#at >= this.#chunk.length) {
      if (this.isAtEnd) return false
      yield
    }
    return true
  }

  *skip(bytes: number): Reader {
    for (let left = bytes; left > 0; ) {
      const some = Math.min(left, this.#chunk.length - this.#at)
      this.#at += some
      left -= some
      if (left > 0) yield
    }
  }

  /** Skips length-prefixed strings. */
  *skipStrings(count: number): Reader {
    for (let i = 0; i < count; i++) {
      // Fast path: a short string within the chunk.
      const length = this.#chunk[this.#at] ?? 128
      if (length < 128 && this.#at + length < this.#chunk.length) this.#at += length + 1
      else yield* this.skip(yield* this.varint())
    }
  }

  *varint(): Reader<number> {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = yield* this.#byte()
      value += (byte % 128) * factor
      if (byte < 128) return value
    }
  }

  *uint64(): Reader<number> {
    let value = 0
    for (let i = 0; i < 8; i++) value += (yield* this.#byte()) * 256 ** i
    return value
  }

  /** Reads a length-prefixed text and replaces it. */
  *replaceText(replace: (text: string) => string): Reader<string> {
    this.#handOn()
    this.#isDropping = true
    const length = yield* this.varint()
    if (length > NAME_BYTES_MAX)
      throw new Exception(Code.Unknown, `A type's name of ${length} bytes. (UNKNOWN_EXCEPTION)`)
    const bytes = Buffer.alloc(length)
    for (let i = 0; i < length; i++) bytes[i] = yield* this.#byte()
    const text = replace(bytes.toString('utf8'))
    this.#handOn()
    this.#isDropping = false
    const written = Buffer.from(text, 'utf8')
    this.#out.push(varintOf(written.length), written)
    return text
  }

  *#byte(): Reader<number> {
    while (this.#at >= this.#chunk.length) yield
    return this.#chunk[this.#at++]!
  }

  #handOn(): void {
    if (!this.#isDropping && this.#at > this.#from) this.#out.push(this.#chunk.subarray(this.#from, this.#at))
    this.#from = this.#at
  }
}

function varintOf(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left])
    bytes.push((left % 128) + 128)
  }
}
