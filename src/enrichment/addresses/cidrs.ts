/** A CIDR block within a range. */
interface Cidr<Bound> {
  readonly first: Bound
  readonly last: Bound
  /** Prefix length in bits. */
  readonly length: number
}

/**
 * @param words the network's first address as four 32-bit words; valid until the visitor returns
 * @param length prefix length in bits
 */
type V6CidrVisitor = (words: Uint32Array, length: number) => void

/** The smallest set of CIDRs that covers exactly an IPv4 range, in ascending order. */
export function* v4Cidrs(first: number, last: number): Generator<Cidr<number>> {
  for (let at = first; at <= last; ) {
    const hostBits = hostBitsOf(highestBit((at ^ last) >>> 0), trailingZeros(at), trailingZeros(~last >>> 0))
    const end = at + 2 ** hostBits - 1
    yield { first: at, last: end, length: 32 - hostBits }
    at = end + 1
  }
}

/** The smallest set of CIDRs that covers exactly an IPv6 range, in ascending order. */
export function v6Cidrs(first: bigint, last: bigint): Cidr<bigint>[] {
  const cidrs: Cidr<bigint>[] = []
  eachV6Cidr(first, last, (words, length) => {
    let start = 0n
    for (const word of words) start = (start << 32n) | BigInt(word)
    cidrs.push({ first: start, last: start + (1n << BigInt(128 - length)) - 1n, length })
  })
  return cidrs
}

/** As `v6Cidrs`, on words. Bigints take ten times as long, and tables have hundreds of thousands of ranges. */
export function eachV6Cidr(first: bigint, last: bigint, visit: V6CidrVisitor): void {
  if (first > last) return
  const at = wordsOf(first)
  const end = wordsOf(last)
  const onesAtEnd = trailingZerosOf(end.map((word) => ~word))
  for (;;) {
    const difference = highestDifference(at, end)
    const hostBits = hostBitsOf(difference, trailingZerosOf(at), onesAtEnd)
    visit(at, 128 - hostBits)
    if (hostBits > difference) return
    addPowerOfTwo(at, hostBits)
  }
}

/**
 * Host bits of the largest CIDR that starts at an address and ends at or before the end of a range.
 * @param difference the highest bit in which the two differ, from 0; -1 when they are equal
 * @param zeros zero bits at the end of the first address
 * @param ones one bits at the end of the last address
 */
function hostBitsOf(difference: number, zeros: number, ones: number): number {
  return zeros > difference && ones > difference ? difference + 1 : Math.min(zeros, difference)
}

/** The 128 bits of a number as four 32-bit words, the highest first. */
export function wordsOf(value: bigint): Uint32Array {
  const high = value >> 64n
  return Uint32Array.of(Number(high >> 32n), Number(high & MASK), Number((value >> 32n) & MASK), Number(value & MASK))
}

const MASK = 0xffff_ffffn

function highestDifference(a: Uint32Array, b: Uint32Array): number {
  for (let i = 0; i < 4; i++) if (a[i] !== b[i]) return 32 * (3 - i) + highestBit((a[i]! ^ b[i]!) >>> 0)
  return -1
}

function trailingZerosOf(words: Uint32Array): number {
  for (let i = 3; i >= 0; i--) if (words[i] !== 0) return 32 * (3 - i) + trailingZeros(words[i]!)
  return 128
}

function addPowerOfTwo(words: Uint32Array, bit: number): void {
  let sum = 2 ** (bit % 32)
  for (let i = 3 - Math.floor(bit / 32); i >= 0 && sum > 0; i--) {
    sum += words[i]!
    words[i] = sum
    sum = sum > 0xffff_ffff ? 1 : 0
  }
}

/** Position of the highest set bit; -1 for 0. */
function highestBit(value: number): number {
  return 31 - Math.clz32(value)
}

function trailingZeros(value: number): number {
  return value === 0 ? 32 : 31 - Math.clz32(value & -value)
}
