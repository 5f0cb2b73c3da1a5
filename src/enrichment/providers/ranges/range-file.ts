import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { endianness } from 'node:os'
import { InputError } from '../../../run/errors.ts'
import { type RangeColumns, RangeIndex } from '../../addresses/range-index.ts'

/**
 * A range file holds sorted address ranges and their records as a ready index: a process reads it in one piece and builds
 * nothing. It is written and read on the same machine. Readers check its digest.
 *
 * ```
 * magic             8 bytes
 * SHA-256           32 bytes, of all that follows
 * length of head    4 bytes
 * head              JSON, padded with spaces to a multiple of 4
 * columns           32-bit numbers: IPv4 starts and records, IPv6 starts (4 each) and records, ends of records
 * records           JSON arrays with the values of the members that the head names
 * ```
 */
const MAGIC = Buffer.from('ipidrng1')
const DIGEST_AT = MAGIC.length
const DIGEST_BYTES = 32
const LENGTH_AT = DIGEST_AT + DIGEST_BYTES
const HEAD_AT = LENGTH_AT + 4

/** The metadata of a range file. */
export interface RangeFileHead {
  /** Package and version of the data, and version of `makeDefaults`. */
  readonly source: string
  /** The `database_type` of an MMDB with the same records. */
  readonly databaseType: string
  /** Build time of the data, milliseconds since the Unix epoch; 0 when unknown. */
  readonly builtAtMs: number
  /** Number of ranges with a record. */
  readonly ranges: number
  /** Names of a record's members, in the order of its values. */
  readonly members: readonly string[]
}

/** A value of a record; null when the record lacks the member. */
export type RangeValue = string | number | boolean | null

/** The record of a range. Undefined members are omitted. */
export type RangeRecord = Readonly<Record<string, RangeValue | undefined>>

interface RangeFileContent {
  readonly head: RangeFileHead
  readonly index: RangeIndex
  /** In the order of their numbers. */
  readonly records: Iterable<RangeRecord>
}

interface StoredHead extends RangeFileHead {
  /** Numbers of pieces per family, of records, and of bytes of the records. */
  readonly sizes: readonly [v4: number, v6: number, records: number, recordBytes: number]
  readonly byteOrder: string
}

export function encodeRangeFile({ head, index, records }: RangeFileContent): Buffer {
  const { v4Starts, v4Owners, v6Starts, v6Owners } = index.columns
  const { ends, texts } = encodeRecords(records, head.members)
  const stored: StoredHead = {
    ...head,
    sizes: [v4Owners.length, v6Owners.length, ends.length, texts.length],
    byteOrder: endianness(),
  }
  const json = Buffer.from(JSON.stringify(stored))
  const padded = Buffer.alloc(Math.ceil(json.length / 4) * 4, ' ')
  json.copy(padded)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(padded.length)
  const columns = [v4Starts, v4Owners, v6Starts, v6Owners, ends].map(bytesOf)
  const content = [length, padded, ...columns, texts]
  const digest = createHash('sha256')
  for (const part of content) digest.update(part)
  return Buffer.concat([MAGIC, digest.digest(), ...content])
}

/** A UTF-16 code unit takes at most 3 bytes in UTF-8. */
const UTF8_BYTES_MAX = 3

/** Concatenates the records, with the end of each. Uses one buffer, because there are a hundred thousand records. */
function encodeRecords(records: Iterable<RangeRecord>, members: readonly string[]) {
  const ends: number[] = []
  let texts = Buffer.allocUnsafe(65_536)
  let at = 0
  for (const record of records) {
    const text = JSON.stringify(members.map((member) => record[member] ?? null))
    const needed = at + UTF8_BYTES_MAX * text.length
    if (needed > texts.length) texts = Buffer.concat([texts], Math.max(needed, 2 * texts.length))
    at += texts.write(text, at)
    ends.push(at)
  }
  return { ends: Uint32Array.from(ends), texts: texts.subarray(0, at) }
}

/** A range file in memory. */
export interface OpenRangeFile {
  readonly head: RangeFileHead
  readonly index: RangeIndex
  /** Number of records. */
  readonly records: number
  /** Decodes a record, numbered from 0, into an object like that of an MMDB. */
  decode(record: number): Readonly<Record<string, RangeValue>>
}

/**
 * Opens a range file and verifies all of it.
 * @param bytes the columns are views of this buffer
 * @throws InputError when it is truncated, damaged, or another kind of file
 */
export function openRangeFile(bytes: Buffer): OpenRangeFile {
  const head = readHead(bytes)
  if (head === undefined) throw new InputError('it is not a range file')
  if (bytes.length !== sizeOf(bytes.readUInt32LE(LENGTH_AT), head)) throw new InputError('the range file is truncated')
  const digest = createHash('sha256').update(bytes.subarray(LENGTH_AT)).digest()
  if (!digest.equals(bytes.subarray(DIGEST_AT, LENGTH_AT))) throw new InputError('the range file is damaged')
  if (head.byteOrder !== endianness()) throw new InputError('the range file is of a machine with another byte order')
  return opened(bytes, head)
}

/**
 * The metadata in the first bytes of a range file.
 * @param sizeBytes size of the whole file
 * @returns undefined when it is truncated or another kind of file
 */
export function headOfRangeFile(bytes: Buffer, sizeBytes: number): RangeFileHead | undefined {
  const head = readHead(bytes)
  return head !== undefined && sizeOf(bytes.readUInt32LE(LENGTH_AT), head) === sizeBytes ? head : undefined
}

/** Reads the metadata of a range file only; undefined when it is missing, truncated or another kind of file. */
export async function readRangeHead(path: string): Promise<RangeFileHead | undefined> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return undefined
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(RANGE_HEAD_BYTES_MAX), 0, RANGE_HEAD_BYTES_MAX, 0)
    return headOfRangeFile(buffer.subarray(0, bytesRead), size)
  } finally {
    await file.close()
  }
}

/** At least the size of everything before the columns. */
const RANGE_HEAD_BYTES_MAX = 4_096

function readHead(bytes: Buffer): StoredHead | undefined {
  if (bytes.length < HEAD_AT || !bytes.subarray(0, DIGEST_AT).equals(MAGIC)) return undefined
  const length = bytes.readUInt32LE(LENGTH_AT)
  if (length > RANGE_HEAD_BYTES_MAX - HEAD_AT || length % 4 !== 0) return undefined
  try {
    const head = JSON.parse(bytes.toString('utf8', HEAD_AT, HEAD_AT + length)) as StoredHead | null
    const { sizes } = head ?? {}
    return Array.isArray(sizes) && sizes.length === 4 && sizes.every(Number.isSafeInteger) ? head! : undefined
  } catch {
    return undefined
  }
}

function sizeOf(headBytes: number, { sizes: [v4, v6, records, recordBytes] }: StoredHead): number {
  return HEAD_AT + headBytes + 4 * (2 * v4 + 5 * v6 + records) + recordBytes
}

function opened(bytes: Buffer, { sizes: [v4, v6, records, recordBytes], ...head }: StoredHead): OpenRangeFile {
  // A view of 32-bit numbers must start at a multiple of 4.
  const whole = bytes.byteOffset % 4 === 0 ? bytes : Buffer.from(Uint8Array.from(bytes).buffer)
  let at = whole.byteOffset + HEAD_AT + whole.readUInt32LE(LENGTH_AT)
  const next = <T>(type: new (buffer: ArrayBufferLike, at: number, length: number) => T, length: number): T => {
    const column = new type(whole.buffer, at, length)
    at += 4 * length
    return column
  }
  const columns: RangeColumns = {
    v4Starts: next(Uint32Array, v4),
    v4Owners: next(Int32Array, v4),
    v6Starts: next(Uint32Array, 4 * v6),
    v6Owners: next(Int32Array, v6),
  }
  const ends = next(Uint32Array, records)
  const texts = Buffer.from(whole.buffer, at, recordBytes)
  return {
    head,
    index: new RangeIndex(columns),
    records,
    decode(record) {
      const text = texts.toString('utf8', record === 0 ? 0 : ends[record - 1]!, ends[record]!)
      const values = JSON.parse(text) as readonly RangeValue[]
      const members = head.members.map((name, i) => [name, values[i]!] as const)
      return Object.fromEntries(members.filter(([, value]) => value !== null))
    },
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array | Int32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
