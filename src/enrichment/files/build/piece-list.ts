import { compareWords, type WordRange } from '../../addresses/word-range.ts'
import { doubled } from '../../columns.ts'

/** Initial capacity; it doubles when full. */
const PIECES_AT_FIRST = 16_384

/**
 * Turns ranges of one family into pieces: the start and the record of each; -1 for a gap. Merges neighbours with the same
 * record. The ranges must be ascending and disjoint.
 */
export class PieceList {
  /** Number of pieces with a record. */
  ranges = 0
  readonly #words: number
  #starts: Uint32Array
  #records = new Int32Array(PIECES_AT_FIRST)
  #length = 0
  /** The address after the last range. */
  readonly #end: Uint32Array
  /** False before the first range, and after the last address of the family. */
  #hasEnd = false

  constructor(version: 4 | 6) {
    this.#words = version === 4 ? 1 : 4
    this.#end = new Uint32Array(this.#words)
    this.#starts = new Uint32Array(this.#words * PIECES_AT_FIRST)
  }

  /** @param range must start after the end of the previous one */
  add({ first, last }: WordRange, record: number): void {
    const isNext = this.#hasEnd && compareWords(first, this.#end) === 0
    if (this.#hasEnd && !isNext) this.#push(this.#end, -1)
    if (!isNext || this.#records[this.#length - 1] !== record) {
      this.#push(first, record)
      this.ranges++
    }
    this.#endAfter(last)
  }

  /** The columns. Do not add afterwards. */
  finish(): { readonly starts: Uint32Array; readonly records: Int32Array } {
    if (this.#hasEnd) this.#push(this.#end, -1)
    return { starts: this.#starts.slice(0, this.#words * this.#length), records: this.#records.slice(0, this.#length) }
  }

  #endAfter(last: Uint32Array): void {
    this.#hasEnd = false
    for (let i = this.#words - 1; i >= 0; i--) {
      const carries = !this.#hasEnd
      this.#end[i] = last[i]! + (carries ? 1 : 0)
      if (carries) this.#hasEnd = this.#end[i] !== 0
    }
  }

  #push(start: Uint32Array, record: number): void {
    if (this.#length === this.#records.length) this.#grow()
    for (let i = 0; i < this.#words; i++) this.#starts[this.#words * this.#length + i] = start[i]!
    this.#records[this.#length++] = record
  }

  #grow(): void {
    this.#starts = doubled(this.#starts)
    this.#records = doubled(this.#records)
  }
}
