import { Code, Exception } from './exception.ts'
import { type NativeType, nativeType } from './native-types.ts'

/**
 * FORMAT Native for clients that name a revision of ClickHouse's protocol (`client_protocol_version`). chdb writes it for
 * revision 0 only, so what later revisions add is put in as the result passes: a block's info, a byte per column that
 * says how its values are serialized, and the time zone of DateTime columns.
 */

/** Before it, no LowCardinality; from the second on, strings are laid out otherwise. */
const REVISIONS = { min: 54_405, max: 54_491 }
const REVISION_OF = { customSerialization: 54_454, outOfOrderBuckets: 54_480 }

const BLOCK_INFO = [1, 0, 2, 255, 255, 255, 255]
const OUT_OF_ORDER_BUCKETS = [3, 0]
const DEFAULT_SERIALIZATION = Buffer.from([0])

const NAME_BYTES_MAX = 1_048_576

/** @throws Exception when the revision is not known here */
export function checkRevision(revision: number): void {
  const { min, max } = REVISIONS
  if (revision >= min && revision <= max) return
  const message = `The embedded ClickHouse has no client_protocol_version ${revision} for FORMAT Native, but 0 and ${min} to ${max}. (NOT_IMPLEMENTED)`
  throw new Exception(Code.NotImplemented, message)
}

/**
 * A result in FORMAT Native, as a revision has it.
 * @param chunks of the result for revision 0
 * @param types of its columns where they are known: those of the blocks lack the time zone of a DateTime
 * @throws Exception for columns whose values have no layout that is known here
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

/** Yields wherever it needs another chunk. */
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

/** The version of each dictionary comes before all values of the column. */
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

/** Bytes on their way through: all that is read is handed on, but for what is replaced. */
class Passage {
  isAtEnd = false
  #chunk: Uint8Array = Buffer.alloc(0)
  /** Where to read on, and where what has not been handed on begins. */
  #at = 0
  #from = 0
  #isDropping = false
  #out: Uint8Array[] = []

  /** The chunk before it must have been read to its end. */
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

  /** Strings with their lengths before them. */
  *skipStrings(count: number): Reader {
    for (let i = 0; i < count; i++) {
      // Most are short, and whole within the chunk.
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

  /** Reads a text with its length before it, and hands another on in its place. */
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
