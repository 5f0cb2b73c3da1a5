import { ASN_MAX } from '../../addresses/network.ts'
import { compareWords, emptyRange, type WordRange } from '../../addresses/word-range.ts'
import { HashSlots, hashOfBytes } from './hash-slots.ts'

const DOT = 46
const COLON = 58
const ZERO = 48
const LETTER_A = 97
const V4_CHARACTERS_MAX = 15
const V6_CHARACTERS_MAX = 39
const ASN_DIGITS_MAX = 10

/** The syntax of a row. */
export interface RowForm {
  /** Code of the character between cells. */
  readonly separator: number
  /** Whether there are more cells between number and name. */
  readonly hasMore: boolean
  /** The name in the last cell of a row; undefined when the cell is not in its usual form. */
  nameOf(cell: string): string | undefined
}

/**
 * Parses rows of first address, last address, number and name directly from bytes, four times as fast as from strings. It
 * only accepts the usual form. The caller parses other rows as strings: blanks in an address, IPv6 with embedded IPv4, AS 0.
 */
export class AsRowBytes {
  /** Values of the last row; valid until the next `read`. */
  range: WordRange = emptyRange(4)
  asn = 0
  name = ''
  readonly #text: Buffer
  readonly #separator: number
  readonly #hasMore: boolean
  readonly #names: NameTable
  readonly #v4 = emptyRange(4)
  readonly #v6 = emptyRange(6)
  readonly #groups = new Uint16Array(8)
  /** Next index in the text. */
  #at = 0

  constructor(text: Buffer, { separator, hasMore, nameOf }: RowForm) {
    this.#text = text
    this.#separator = separator
    this.#hasMore = hasMore
    this.#names = new NameTable(text, nameOf)
  }

  /**
   * Reads one line.
   * @param end end of the line, without its line ending
   * @returns false when the row does not have the usual form; the values are then unchanged
   */
  read(start: number, end: number): boolean {
    this.#at = start
    const range = this.#readRange(end)
    if (range === undefined || compareWords(range.first, range.last) > 0) return false
    const asn = this.#readNumber(end)
    if (asn < 1 || asn > ASN_MAX) return false
    const nameStart = this.#hasMore ? this.#text.lastIndexOf(this.#separator, end - 1) + 1 : this.#at
    const name = this.#names.at(nameStart, end)
    if (name === undefined) return false
    this.range = range
    this.asn = asn
    this.name = name
    return true
  }

  #readRange(end: number): WordRange | undefined {
    const start = this.#at
    if (this.#readV4(this.#v4.first, end) && this.#readV4(this.#v4.last, end)) return this.#v4
    this.#at = start
    return this.#readV6(this.#v6.first, end) && this.#readV6(this.#v6.last, end) ? this.#v6 : undefined
  }

  /** Reads an IPv4 address and the separator after it. */
  #readV4(words: Uint32Array, end: number): boolean {
    const limit = Math.min(end, this.#at + V4_CHARACTERS_MAX + 1)
    let value = 0
    let octet = 0
    let digits = 0
    let dots = 0
    for (let i = this.#at; i < limit; i++) {
      const code = this.#text[i]!
      if (code === DOT || code === this.#separator) {
        if (digits === 0) return false
        value = value * 256 + octet
        if (code === this.#separator) {
          words[0] = value
          this.#at = i + 1
          return dots === 3
        }
        if (++dots > 3) return false
        octet = 0
        digits = 0
        continue
      }
      const digit = code - ZERO
      if (digit < 0 || digit > 9 || (digits > 0 && octet === 0)) return false
      octet = octet * 10 + digit
      digits++
      if (octet > 255) return false
    }
    return false
  }

  /** Reads an IPv6 address without embedded IPv4, and the separator after it. */
  #readV6(words: Uint32Array, end: number): boolean {
    const text = this.#text
    const groups = this.#groups
    const limit = Math.min(end, this.#at + V6_CHARACTERS_MAX + 1)
    let count = 0
    /** Groups before `::`; -1 while there is none. */
    let gap = -1
    let value = 0
    let digits = 0
    for (let i = this.#at; i < limit; i++) {
      const code = text[i]!
      if (code === COLON || code === this.#separator) {
        if (digits > 0) {
          if (count === 8) return false
          groups[count++] = value
          value = 0
          digits = 0
        } else if (code === COLON ? i !== this.#at || text[i + 1] !== COLON : gap !== count) {
          // Only `::` may start or end an address.
          return false
        }
        if (code === this.#separator) {
          this.#at = i + 1
          return this.#setWords(words, count, gap)
        }
        if (text[i + 1] === COLON) {
          if (gap >= 0) return false
          gap = count
          i++
        }
        continue
      }
      const digit = hexDigit(code)
      if (digit < 0 || digits === 4) return false
      value = value * 16 + digit
      digits++
    }
    return false
  }

  /** Returns false for addresses that start with 0, because IPv4-mapped ones do. */
  #setWords(words: Uint32Array, count: number, gap: number): boolean {
    const groups = this.#groups
    if (gap < 0 ? count !== 8 : count === 8) return false
    if (gap >= 0) {
      groups.copyWithin(8 - (count - gap), gap, count)
      groups.fill(0, gap, 8 - (count - gap))
    }
    for (let i = 0; i < 4; i++) words[i] = groups[2 * i]! * 65_536 + groups[2 * i + 1]!
    return groups[0] !== 0
  }

  /** Reads digits and the separator after them; -1 for anything else. */
  #readNumber(end: number): number {
    const limit = Math.min(end, this.#at + ASN_DIGITS_MAX + 1)
    let value = 0
    for (let i = this.#at; i < limit; i++) {
      const code = this.#text[i]!
      if (code === this.#separator) {
        const isEmpty = i === this.#at
        this.#at = i + 1
        return isEmpty ? -1 : value
      }
      const digit = code - ZERO
      if (digit < 0 || digit > 9) return -1
      value = value * 10 + digit
    }
    return -1
  }
}

function hexDigit(code: number): number {
  const digit = code - ZERO
  if (digit >= 0 && digit <= 9) return digit
  // Lower and upper case differ in one bit.
  const letter = (code | 32) - LETTER_A
  return letter >= 0 && letter <= 5 ? letter + 10 : -1
}

/** Decodes each name of a text once: a table has five rows per name. */
class NameTable {
  readonly #text: Buffer
  readonly #decode: (bytes: string) => string | undefined
  readonly #slots = new HashSlots()
  readonly #names: (string | undefined)[] = []
  /** Where the bytes of each name were first seen. */
  readonly #starts: number[] = []
  readonly #ends: number[] = []

  /**
   * @param text contains the names
   * @param decode converts characters of the text to a name; undefined when they are not one
   */
  constructor(text: Buffer, decode: (characters: string) => string | undefined) {
    this.#text = text
    this.#decode = decode
  }

  /** The decoded name at a position of the text. */
  at(start: number, end: number): string | undefined {
    const number = this.#slots.numberOf(hashOfBytes(this.#text, start, end), (other) => this.#isAt(other, start, end))
    if (number === this.#names.length) {
      this.#names.push(this.#decode(this.#text.toString('utf8', start, end)))
      this.#starts.push(start)
      this.#ends.push(end)
    }
    return this.#names[number]
  }

  #isAt(number: number, start: number, end: number): boolean {
    const from = this.#starts[number]!
    if (this.#ends[number]! - from !== end - start) return false
    for (let i = start, j = from; i < end; i++, j++) if (this.#text[i] !== this.#text[j]) return false
    return true
  }
}
