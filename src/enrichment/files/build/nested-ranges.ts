import { compareWords, copyWords, emptyRange, type WordRange } from '../../addresses/word-range.ts'
import { doubled } from '../../columns.ts'
import { PieceList } from './piece-list.ts'

const RANGES_AT_FIRST = 16_384
const DIGITS = 65_536

/**
 * Ranges of one family that contain each other, in any order, with a number each. Takes 12 bytes for an IPv4 range and 36
 * for an IPv6 one, twice that while it is full and grows.
 */
export class NestedRanges {
  readonly #version: 4 | 6
  readonly #words: number
  #starts: Uint32Array
  #ends: Uint32Array
  #numbers = new Uint32Array(RANGES_AT_FIRST)
  #length = 0

  constructor(version: 4 | 6) {
    this.#version = version
    this.#words = version === 4 ? 1 : 4
    this.#starts = new Uint32Array(this.#words * RANGES_AT_FIRST)
    this.#ends = new Uint32Array(this.#words * RANGES_AT_FIRST)
  }

  get length(): number {
    return this.#length
  }

  /** @param range is copied */
  add(range: WordRange, number: number): void {
    if (this.#length === this.#numbers.length) this.#grow()
    const at = this.#words * this.#length
    for (let word = 0; word < this.#words; word++) {
      this.#starts[at + word] = range.first[word]!
      this.#ends[at + word] = range.last[word]!
    }
    this.#numbers[this.#length++] = number
  }

  /**
   * Cuts the ranges into disjoint pieces. A range covers the ones around it; of two equal ones, the later. Of two that only
   * overlap, the one with the higher start wins.
   * @param recordOf decides the record of a range: the numbers of the ranges around it, the innermost last, and the record of
   *   the innermost; -1 for none
   */
  pieces(recordOf: (number: number, around: readonly number[], outer: number) => number): PieceList {
    const pieces = new PieceList(this.#version)
    /** Positions, numbers and records of the open ranges, the innermost last. */
    const open: number[] = []
    const numbers: number[] = []
    const records: number[] = []
    const [range, next, last] = [
      emptyRange(this.#version),
      emptyRange(this.#version).first,
      emptyRange(this.#version).last,
    ]
    let isFull = false
    /** Emits the addresses from `next` to an end, inclusive, for the innermost range. */
    const emit = (end: Uint32Array) => {
      if (isFull || compareWords(next, end) > 0) return
      const record = records.at(-1)!
      copyWords(next, range.first)
      copyWords(end, range.last)
      if (record >= 0) pieces.add(range, record)
      copyWords(end, next)
      isFull = increment(next)
    }
    const close = () => {
      this.#read(this.#ends, open.at(-1)!, last)
      emit(last)
      open.pop()
      numbers.pop()
      records.pop()
    }
    const first = emptyRange(this.#version).first
    for (const position of this.#inOrder()) {
      this.#read(this.#starts, position, first)
      while (open.length > 0 && this.#endsBefore(open.at(-1)!, first)) close()
      if (open.length > 0) {
        copyWords(first, last)
        // The address before the start: there is one, because an open range starts at or before it.
        if (compareWords(next, first) < 0) {
          decrement(last)
          emit(last)
        }
      } else {
        copyWords(first, next)
        isFull = false
      }
      const number = this.#numbers[position]!
      records.push(recordOf(number, numbers, records.at(-1) ?? -1))
      open.push(position)
      numbers.push(number)
    }
    while (open.length > 0) close()
    return pieces
  }

  #read(column: Uint32Array, position: number, into: Uint32Array): void {
    for (let word = 0; word < this.#words; word++) into[word] = column[this.#words * position + word]!
  }

  #endsBefore(position: number, address: Uint32Array): boolean {
    for (let word = 0; word < this.#words; word++) {
      const end = this.#ends[this.#words * position + word]!
      if (end !== address[word]) return end < address[word]!
    }
    return false
  }

  /** Positions by start, then the largest range first, then as added. Radix sort: a comparator takes ten times as long. */
  #inOrder(): Uint32Array {
    let order = new Uint32Array(this.#length)
    for (let position = 0; position < this.#length; position++) order[position] = position
    let spare = new Uint32Array(this.#length)
    const sortBy = (column: Uint32Array, word: number, shift: number, flip: number) => {
      const counts = new Uint32Array(DIGITS + 1)
      const digit = (position: number) => ((column[this.#words * position + word]! >>> shift) & (DIGITS - 1)) ^ flip
      for (const position of order) counts[digit(position) + 1]!++
      for (let i = 1; i <= DIGITS; i++) counts[i]! += counts[i - 1]!
      for (const position of order) spare[counts[digit(position)]!++] = position
      ;[order, spare] = [spare, order]
    }
    for (const [column, flip] of [
      [this.#ends, DIGITS - 1],
      [this.#starts, 0],
    ] as const) {
      for (let word = this.#words - 1; word >= 0; word--) for (const shift of [0, 16]) sortBy(column, word, shift, flip)
    }
    return order
  }

  #grow(): void {
    this.#starts = doubled(this.#starts)
    this.#ends = doubled(this.#ends)
    this.#numbers = doubled(this.#numbers)
  }
}

/** @returns whether it was the last address of the family */
function increment(address: Uint32Array): boolean {
  for (let word = address.length - 1; word >= 0; word--) {
    address[word] = address[word]! + 1
    if (address[word] !== 0) return false
  }
  return true
}

function decrement(address: Uint32Array): void {
  for (let word = address.length - 1; word >= 0; word--) {
    const borrows = address[word] === 0
    address[word] = address[word]! - 1
    if (!borrows) return
  }
}
