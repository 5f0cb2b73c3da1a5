import { wordsOf } from './cidrs.ts'
import { type AddressRange, formatRange } from './network.ts'

/**
 * An address range as 32-bit words, the highest first: one word for IPv4, four for IPv6. Both ends are inclusive. Tables
 * have hundreds of thousands of ranges, and bigints take ten times as long.
 */
export interface WordRange {
  readonly first: Uint32Array
  readonly last: Uint32Array
}

/** A zeroed range to write into. */
export function emptyRange(version: 4 | 6): WordRange {
  const words = version === 4 ? 1 : 4
  return { first: new Uint32Array(words), last: new Uint32Array(words) }
}

/** Compares two addresses of one family, as a comparator of `sort` does. */
export function compareWords(a: Uint32Array, b: Uint32Array): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!
  return 0
}

/** A loop, because `set` takes several times as long for four words. */
export function copyWords(from: Uint32Array, to: Uint32Array): void {
  for (let i = 0; i < from.length; i++) to[i] = from[i]!
}

/** Converts words to an `AddressRange`. */
export function addressRange({ first, last }: WordRange): AddressRange {
  return first.length === 1
    ? { version: 4, first: first[0]!, last: last[0]! }
    : { version: 6, first: bigintOf(first), last: bigintOf(last) }
}

/** The reverse of `addressRange`. */
export function wordRange(range: AddressRange): WordRange {
  return range.version === 4
    ? { first: Uint32Array.of(range.first), last: Uint32Array.of(range.last) }
    : { first: wordsOf(range.first), last: wordsOf(range.last) }
}

/** As `formatRange`. */
export function formatWordRange(range: WordRange): string {
  return formatRange(addressRange(range))
}

function bigintOf(words: Uint32Array): bigint {
  let value = 0n
  for (const word of words) value = (value << 32n) | BigInt(word)
  return value
}
