import { Buffer } from 'node:buffer'

/** Types of numbers in the format. */
type NumberType = 'double' | 'float' | 'uint16' | 'uint32' | 'uint64' | 'uint128' | 'int32'

/** A number with an explicit type. */
class TypedNumber {
  readonly type: NumberType
  readonly value: number | bigint

  constructor(type: NumberType, value: number | bigint) {
    this.type = type
    this.value = value
  }
}

/** `typed('uint16', 4)`. */
export function typed(type: NumberType, value: number | bigint): TypedNumber {
  return new TypedNumber(type, value)
}

/**
 * A value of a MaxMind DB file. Integers from 0 to 2^32 - 1 become uint32, negative ones int32, other numbers double; a
 * bigint becomes uint64 or uint128. Undefined members are omitted.
 */
export type MmdbValue =
  | string
  | number
  | bigint
  | boolean
  | Uint8Array
  | TypedNumber
  | readonly MmdbValue[]
  | { readonly [key: string]: MmdbValue | undefined }

const TYPE = {
  pointer: 1,
  string: 2,
  double: 3,
  bytes: 4,
  uint16: 5,
  uint32: 6,
  map: 7,
  int32: 8,
  uint64: 9,
  uint128: 10,
  array: 11,
  boolean: 14,
  float: 15,
} as const

/** Sizes of the unsigned types, in bytes. */
const UNSIGNED_BYTES = { uint16: 2, uint32: 4, uint64: 8, uint128: 16 } as const

/** The section is a list of pieces, because growing one buffer of hundreds of megabytes would need twice the memory. */
const PIECE_BYTES = 1024 * 1024
const MEMBERS_MAX = 1_000
/** A `Map` holds at most 2^24 entries. Values that do not fit are written again. */
const KNOWN_MAX = 2 ** 24 - 1

/**
 * Encodes values into a data section (MaxMind DB format 2.0). It writes equal values once and points to them.
 */
export class DataEncoder {
  readonly #pieces: Buffer[] = []
  #piece = Buffer.alloc(0)
  #used = 0
  #length = 0
  readonly #strings = new Map<string, number>()
  /** Cached encodings of strings inside other values. */
  readonly #members = new Map<string, Uint8Array>()
  #scratch = Buffer.alloc(1_024)
  /** Offsets of all other values by their bytes. These are short, because inner values are pointers. */
  readonly #others = new Map<string, number>()

  /** Bytes written. */
  get length(): number {
    return this.#length
  }

  /** The written pieces. Frees the caches; nothing can be added afterwards. */
  finish(): readonly Buffer[] {
    this.#strings.clear()
    this.#others.clear()
    this.#members.clear()
    return [...this.#pieces, this.#piece.subarray(0, this.#used)]
  }

  /** Writes a value unless an equal one exists. Returns its offset in the section. */
  add(value: MmdbValue): number {
    if (typeof value === 'string') {
      return this.#strings.get(value) ?? this.#write(this.#strings, value, encodeValue(value))
    }
    // Inner values are written first, because a value is contiguous.
    const bytes = isMap(value) ? this.#map(value) : encode(value, (member) => this.#member(member))
    const key = bytes.toString('latin1')
    return this.#others.get(key) ?? this.#write(this.#others, key, bytes)
  }

  #write(known: Map<string, number>, key: string, bytes: Uint8Array): number {
    const offset = this.#length
    if (this.#used + bytes.length > this.#piece.length) {
      this.#pieces.push(this.#piece.subarray(0, this.#used))
      this.#piece = Buffer.alloc(Math.max(PIECE_BYTES, bytes.length))
      this.#used = 0
    }
    this.#piece.set(bytes, this.#used)
    this.#used += bytes.length
    this.#length += bytes.length
    if (known.size < KNOWN_MAX) known.set(key, offset)
    return offset
  }

  /** Encodes into a shared buffer, because there are millions of maps. The result is valid until the next call. */
  #map(value: MmdbMap): Buffer {
    const members: Uint8Array[] = []
    for (const key in value) {
      const member = value[key]
      if (member !== undefined) members.push(this.#member(key), this.#member(member))
    }
    const head = control(TYPE.map, members.length / 2)
    let length = head.length
    for (const member of members) length += member.length
    if (length > this.#scratch.length) this.#scratch = Buffer.alloc(2 * length)
    this.#scratch.set(head)
    let at = head.length
    for (const member of members) {
      this.#scratch.set(member, at)
      at += member.length
    }
    return this.#scratch.subarray(0, length)
  }

  /** Encodes a value inside another one: short values inline, others as a pointer. */
  #member(value: MmdbValue): Uint8Array {
    const isShort =
      typeof value === 'string' ? value.length < 3 : typeof value !== 'object' || value instanceof TypedNumber
    if (typeof value !== 'string') return isShort ? encodeValue(value) : pointer(this.add(value))
    // Names of members are the same in every record.
    let bytes = this.#members.get(value)
    if (bytes === undefined) {
      bytes = isShort ? encodeValue(value) : pointer(this.add(value))
      if (this.#members.size < MEMBERS_MAX) this.#members.set(value, bytes)
    }
    return bytes
  }
}

type MmdbMap = { readonly [key: string]: MmdbValue | undefined }

function isMap(value: MmdbValue): value is MmdbMap {
  return (
    typeof value === 'object' &&
    !Array.isArray(value) &&
    !(value instanceof TypedNumber) &&
    !(value instanceof Uint8Array)
  )
}

/** Encodes a value without pointers. */
export function encodeValue(value: MmdbValue): Uint8Array {
  return encode(value, encodeValue)
}

/** @param inner encodes the values inside this one */
function encode(value: MmdbValue, inner: (value: MmdbValue) => Uint8Array): Buffer {
  if (typeof value === 'string') return withControl(TYPE.string, Buffer.from(value, 'utf8'))
  if (typeof value === 'boolean') return control(TYPE.boolean, value ? 1 : 0)
  if (typeof value === 'number' || typeof value === 'bigint') return encodeNumber(typeOf(value), value)
  if (value instanceof TypedNumber) return encodeNumber(value.type, value.value)
  if (value instanceof Uint8Array) return withControl(TYPE.bytes, value)
  if (Array.isArray(value)) {
    const items = value as readonly MmdbValue[]
    return Buffer.concat([control(TYPE.array, items.length), ...items.map(inner)])
  }
  const members: Uint8Array[] = []
  for (const [key, member] of Object.entries(value as MmdbMap)) {
    if (member !== undefined) members.push(inner(key), inner(member))
  }
  return Buffer.concat([control(TYPE.map, members.length / 2), ...members])
}

function typeOf(value: number | bigint): NumberType {
  if (typeof value === 'bigint') return value < 1n << 64n ? 'uint64' : 'uint128'
  if (!Number.isInteger(value) || value > 4_294_967_295 || value < -2_147_483_648) return 'double'
  return value < 0 ? 'int32' : 'uint32'
}

function encodeNumber(type: NumberType, value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  if (type === 'double') {
    bytes.writeDoubleBE(Number(value))
    return withControl(TYPE.double, bytes)
  }
  if (type === 'float') {
    bytes.writeFloatBE(Number(value))
    return withControl(TYPE.float, bytes.subarray(0, 4))
  }
  if (type === 'int32') {
    bytes.writeInt32BE(Number(value))
    return withControl(TYPE.int32, bytes.subarray(0, 4))
  }
  return withControl(TYPE[type], unsigned(BigInt(value), UNSIGNED_BYTES[type]))
}

/** The fewest bytes that hold the number, big-endian; none for 0. */
function unsigned(value: bigint, bytesMax: number): Uint8Array {
  if (value < 0n || value >> BigInt(8 * bytesMax) !== 0n)
    throw new RangeError(`${value} does not fit ${bytesMax} bytes`)
  const hex = value === 0n ? '' : value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

function withControl(type: number, payload: Uint8Array): Buffer {
  return Buffer.concat([control(type, payload.length), payload])
}

/** The control byte and its extensions: for a type above 7, for a size from 29. */
function control(type: number, size: number): Buffer {
  const [bits, extension] = sizeBits(size)
  return type > 7 ? Buffer.from([bits, type - 7, ...extension]) : Buffer.from([(type << 5) | bits, ...extension])
}

function sizeBits(size: number): [bits: number, extension: number[]] {
  if (size < 29) return [size, []]
  if (size < 285) return [29, [size - 29]]
  if (size < 65_821) return [30, [(size - 285) >> 8, (size - 285) & 255]]
  const rest = size - 65_821
  if (rest > 0xff_ffff) throw new RangeError(`a value of size ${size} is too large`)
  return [31, [rest >> 16, (rest >> 8) & 255, rest & 255]]
}

function pointer(offset: number): Uint8Array {
  const start = TYPE.pointer << 5
  if (offset < 2048) return Buffer.from([start | (offset >> 8), offset & 255])
  if (offset < 526_336) {
    const rest = offset - 2048
    return Buffer.from([start | 8 | (rest >> 16), (rest >> 8) & 255, rest & 255])
  }
  if (offset < 134_744_064) {
    const rest = offset - 526_336
    return Buffer.from([start | 16 | (rest >>> 24), (rest >> 16) & 255, (rest >> 8) & 255, rest & 255])
  }
  const bytes = Buffer.alloc(5)
  bytes[0] = start | 24
  bytes.writeUInt32BE(offset, 1)
  return bytes
}
