import { createHash } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { endianness } from 'node:os'
import { InputError } from '../../run/errors.ts'

/*
 * A sealed file holds columns as a process keeps them in memory: it is read in one piece, and nothing is parsed or built. It
 * is written and read on the same machine. Readers check its digest.
 *
 * magic             8 bytes, the kind of file and its version
 * SHA-256           32 bytes, of all that follows
 * length of head    4 bytes
 * head              JSON, padded with spaces to a multiple of 4
 * columns           each padded with zeros to a multiple of 4
 */
const MAGIC_BYTES = 8
const DIGEST_BYTES = 32
const LENGTH_AT = MAGIC_BYTES + DIGEST_BYTES
const HEAD_AT = LENGTH_AT + 4

/** A kind of sealed file. */
export interface SealedKind {
  /** 8 ASCII characters. */
  readonly magic: string
  /** For messages, with its article: `a range file`. */
  readonly name: string
}

/** Metadata of every sealed file. */
export interface SealedHead {
  /** The origin of the file, and the version of its maker. */
  readonly source: string
}

/** A column of a sealed file. */
export type Column = Uint32Array | Int32Array | Int16Array | Uint8Array
interface ColumnType<T extends Column> {
  readonly BYTES_PER_ELEMENT: number
  new (buffer: ArrayBufferLike, at: number, length: number): T
}

interface Stored {
  /** Bytes of each column, without padding. */
  readonly columnBytes: readonly number[]
  readonly byteOrder: string
}

export function sealFile(kind: SealedKind, head: SealedHead, columns: readonly Column[]): Buffer {
  return Buffer.concat(sealedParts(kind, head, columns))
}

/** As `sealFile`, in parts. A large column may come in parts too. */
export function sealedParts(
  { magic }: SealedKind,
  head: SealedHead,
  columns: readonly (Column | readonly Column[])[],
): Buffer[] {
  const pages = columns.map((column) => (ArrayBuffer.isView(column) ? [column] : (column as readonly Column[])))
  const sizes = pages.map((parts) => parts.reduce((sum, { byteLength }) => sum + byteLength, 0))
  const stored: SealedHead & Stored = {
    ...head,
    columnBytes: sizes,
    byteOrder: endianness(),
  }
  const json = Buffer.from(JSON.stringify(stored))
  const padded = Buffer.alloc(paddedBytes(json.length), ' ')
  json.copy(padded)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(padded.length)
  const content: Buffer[] = [length, padded]
  for (const [i, parts] of pages.entries()) {
    for (const { buffer, byteOffset, byteLength } of parts) content.push(Buffer.from(buffer, byteOffset, byteLength))
    content.push(Buffer.alloc(paddedBytes(sizes[i]!) - sizes[i]!))
  }
  const digest = createHash('sha256')
  for (const part of content) digest.update(part)
  return [Buffer.from(magic), digest.digest(), ...content]
}

/** A sealed file in memory. */
export interface OpenSealedFile<Head extends SealedHead> {
  readonly head: Head
  /** The next column, in the order in which they were written: a view of the file's bytes. */
  next<T extends Column>(type: ColumnType<T>): T
}

/**
 * Opens a sealed file and verifies all of it.
 * @param bytes the columns are views of this buffer
 * @throws InputError when it is truncated, damaged, or another kind of file
 */
export function openSealedFile<Head extends SealedHead>(kind: SealedKind, bytes: Buffer): OpenSealedFile<Head> {
  const stored = readHead(kind, bytes)
  const name = kind.name.replace(/^an? /, 'the ')
  if (stored === undefined) throw new InputError(`it is not ${kind.name}`)
  if (bytes.length !== sizeOf(bytes.readUInt32LE(LENGTH_AT), stored)) throw new InputError(`${name} is truncated`)
  const digest = createHash('sha256').update(bytes.subarray(LENGTH_AT)).digest()
  if (!digest.equals(bytes.subarray(MAGIC_BYTES, LENGTH_AT))) throw new InputError(`${name} is damaged`)
  const { columnBytes, byteOrder } = stored
  if (byteOrder !== endianness()) throw new InputError(`${name} is of a machine with another byte order`)
  // A view of 32-bit numbers must start at a multiple of 4.
  const whole = bytes.byteOffset % 4 === 0 ? bytes : Buffer.from(Uint8Array.from(bytes).buffer)
  let at = whole.byteOffset + HEAD_AT + whole.readUInt32LE(LENGTH_AT)
  let column = 0
  return {
    head: headIn<Head>(stored),
    next(type) {
      const length = columnBytes[column++]!
      const view = new type(whole.buffer, at, length / type.BYTES_PER_ELEMENT)
      at += paddedBytes(length)
      return view
    },
  }
}

/**
 * The metadata in the first bytes of a sealed file.
 * @param sizeBytes size of the whole file
 * @returns undefined when it is truncated or another kind of file
 */
export function headOfSealedFile<Head extends SealedHead>(
  kind: SealedKind,
  bytes: Buffer,
  sizeBytes: number,
): Head | undefined {
  const stored = readHead(kind, bytes)
  if (stored === undefined || sizeOf(bytes.readUInt32LE(LENGTH_AT), stored) !== sizeBytes) return undefined
  return headIn<Head>(stored)
}

/** Reads the metadata of a sealed file only; undefined when it is missing, truncated or another kind of file. */
export async function readSealedHead<Head extends SealedHead>(
  kind: SealedKind,
  path: string,
): Promise<Head | undefined> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return undefined
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES_MAX), 0, HEAD_BYTES_MAX, 0)
    return headOfSealedFile(kind, buffer.subarray(0, bytesRead), size)
  } finally {
    await file.close()
  }
}

/** How to check a file: `head` detects a truncated one, `whole` any damage. */
export type SealedCheck = 'head' | 'whole'

/** The source of a sealed file; undefined when the check finds it missing, damaged or another kind of file. */
export async function sourceOfSealedFile(
  kind: SealedKind,
  path: string,
  check: SealedCheck,
): Promise<string | undefined> {
  const head = await readSealedHead(kind, path)
  if (head === undefined || check === 'head') return head?.source
  return await readSealedFile(path, (bytes) => openSealedFile(kind, bytes).head.source)
}

/** Reads a whole sealed file. @returns undefined when it is missing, or `read` throws an InputError */
export async function readSealedFile<T>(path: string, read: (bytes: Buffer) => T): Promise<T | undefined> {
  try {
    return read(await readFile(path))
  } catch (error) {
    if (error instanceof InputError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** At least the size of everything before the columns. */
const HEAD_BYTES_MAX = 4_096

function readHead({ magic }: SealedKind, bytes: Buffer): (SealedHead & Stored) | undefined {
  if (bytes.length < HEAD_AT || bytes.toString('latin1', 0, MAGIC_BYTES) !== magic) return undefined
  const length = bytes.readUInt32LE(LENGTH_AT)
  if (length > HEAD_BYTES_MAX - HEAD_AT || length % 4 !== 0) return undefined
  try {
    const head = JSON.parse(bytes.toString('utf8', HEAD_AT, HEAD_AT + length)) as (SealedHead & Stored) | null
    const { columnBytes } = head ?? {}
    return Array.isArray(columnBytes) && columnBytes.every(Number.isSafeInteger) ? head! : undefined
  } catch {
    return undefined
  }
}

function headIn<Head extends SealedHead>({ columnBytes, byteOrder, ...head }: SealedHead & Stored): Head {
  return head as unknown as Head
}

function sizeOf(headBytes: number, { columnBytes }: Stored): number {
  return columnBytes.reduce((size, bytes) => size + paddedBytes(bytes), HEAD_AT + headBytes)
}

function paddedBytes(bytes: number): number {
  return Math.ceil(bytes / 4) * 4
}
