/**
 * CityHash128 of version 1.0.2, the checksum of ClickHouse's compressed frames. Later versions give other values, and no
 * package has this one.
 */

const K0 = 0xc3a5c85c97cb3127n
const K1 = 0xb492b66fbe98f273n
const K2 = 0x9ae16a3b2f90404fn
const K3 = 0xc949d7c7509e6557n
const K_PAIR = 0x9ddfea08eb382d69n

/** A value of 128 bits. */
interface Pair {
  readonly low: bigint
  readonly high: bigint
}

/** @returns 16 bytes: the low half, then the high half, both little-endian */
export function cityHash128(bytes: Uint8Array): Buffer {
  const { low, high } = hash(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  const result = Buffer.alloc(16)
  result.writeBigUInt64LE(low, 0)
  result.writeBigUInt64LE(high, 8)
  return result
}

function hash(view: DataView): Pair {
  const length = view.byteLength
  if (length >= 16) {
    const rest = new DataView(view.buffer, view.byteOffset + 16, length - 16)
    return hashWithSeed(rest, { low: fetch(view, 0) ^ K3, high: fetch(view, 8) })
  }
  if (length >= 8) {
    const seed = { low: fetch(view, 0) ^ u64(BigInt(length) * K0), high: fetch(view, length - 8) ^ K1 }
    return hashWithSeed(new DataView(view.buffer, view.byteOffset, 0), seed)
  }
  return hashWithSeed(view, { low: K0, high: K1 })
}

function hashWithSeed(view: DataView, seed: Pair): Pair {
  if (view.byteLength < 128) return murmur(view, seed)
  const whole = view.byteLength - (view.byteLength % 128)
  let [x, y, z] = [seed.low, seed.high, u64(BigInt(view.byteLength) * K1)]
  const first = u64(rotate(y ^ K1, 49n) * K1 + fetch(view, 0))
  let v: Pair = { low: first, high: u64(rotate(first, 42n) * K1 + fetch(view, 8)) }
  let w: Pair = { low: u64(rotate(u64(y + z), 35n) * K1 + x), high: u64(rotate(u64(x + fetch(view, 88)), 53n) * K1) }
  for (let at = 0; at < whole; at += 64) {
    x = u64(rotate(u64(x + y + v.low + fetch(view, at + 16)), 37n) * K1) ^ w.high
    y = u64(rotate(u64(y + v.high + fetch(view, at + 48)), 42n) * K1) ^ v.low
    z = rotate(z ^ w.low, 33n)
    v = weakHash(view, at, u64(v.high * K1), u64(x + w.low))
    w = weakHash(view, at + 32, u64(z + w.high), y)
    const swapped = x
    x = z
    z = swapped
  }
  y = u64(y + rotate(w.low, 37n) * K0 + z)
  x = u64(x + rotate(u64(v.low + z), 49n) * K0)
  // The end is hashed in pieces of 32 bytes, from the back; the last of them may begin in what the loop has hashed.
  for (let end = view.byteLength; end > whole; end -= 32) {
    y = u64(rotate(u64(y - x), 42n) * K0 + v.high)
    const low = u64(w.low + fetch(view, end - 16))
    x = u64(rotate(x, 49n) * K0 + low)
    w = { low: u64(low + v.low), high: w.high }
    v = weakHash(view, end - 32, v.low, v.high)
  }
  x = mixPair(x, v.low)
  y = mixPair(y, w.low)
  return {
    low: u64(mixPair(u64(x + v.high), w.high) + y),
    high: mixPair(u64(x + w.high), u64(y + v.high)),
  }
}

/** For fewer than 128 bytes. */
function murmur(view: DataView, seed: Pair): Pair {
  const length = view.byteLength
  let { low: a, high: b } = seed
  let [c, d] = [0n, 0n]
  if (length <= 16) {
    a = u64(shiftMix(u64(a * K1)) * K1)
    c = u64(b * K1 + hashShort(view))
    d = shiftMix(u64(a + (length >= 8 ? fetch(view, 0) : c)))
  } else {
    c = mixPair(u64(fetch(view, length - 8) + K1), a)
    d = mixPair(u64(b + BigInt(length)), u64(c + fetch(view, length - 16)))
    a = u64(a + d)
    for (let at = 0; at < length - 16; at += 16) {
      a = u64((a ^ u64(shiftMix(u64(fetch(view, at) * K1)) * K1)) * K1)
      b ^= a
      c = u64((c ^ u64(shiftMix(u64(fetch(view, at + 8) * K1)) * K1)) * K1)
      d ^= c
    }
  }
  a = mixPair(a, c)
  b = mixPair(d, b)
  return { low: a ^ b, high: mixPair(b, a) }
}

/** For up to 16 bytes. */
function hashShort(view: DataView): bigint {
  const length = view.byteLength
  if (length > 8) {
    const [a, b] = [fetch(view, 0), fetch(view, length - 8)]
    return mixPair(a, rotate(u64(b + BigInt(length)), BigInt(length))) ^ b
  }
  if (length >= 4) {
    const [a, b] = [view.getUint32(0, true), view.getUint32(length - 4, true)]
    return mixPair(BigInt(length) + (BigInt(a) << 3n), BigInt(b))
  }
  if (length === 0) return K2
  const [a, b, c] = [view.getUint8(0), view.getUint8(length >> 1), view.getUint8(length - 1)]
  const [y, z] = [BigInt(a + (b << 8)), BigInt(length + (c << 2))]
  return u64(shiftMix(u64(y * K2) ^ u64(z * K3)) * K2)
}

function weakHash(view: DataView, at: number, seedA: bigint, seedB: bigint): Pair {
  const last = fetch(view, at + 24)
  const a = u64(seedA + fetch(view, at))
  const b = rotate(u64(seedB + a + last), 21n)
  const sum = u64(a + fetch(view, at + 8) + fetch(view, at + 16))
  return { low: u64(sum + last), high: u64(b + rotate(sum, 44n) + a) }
}

function mixPair(low: bigint, high: bigint): bigint {
  const a = u64((low ^ high) * K_PAIR)
  const b = u64((high ^ a ^ (a >> 47n)) * K_PAIR)
  return u64((b ^ (b >> 47n)) * K_PAIR)
}

function shiftMix(value: bigint): bigint {
  return value ^ (value >> 47n)
}

function rotate(value: bigint, bits: bigint): bigint {
  return u64((value >> bits) | (value << (64n - bits)))
}

function fetch(view: DataView, at: number): bigint {
  return view.getBigUint64(at, true)
}

function u64(value: bigint): bigint {
  return BigInt.asUintN(64, value)
}
