import { doubled } from '../../columns.ts'
import { HashSlots, hashOfBytes } from './hash-slots.ts'

const TEXTS_AT_FIRST = 65_536
const BYTES_AT_FIRST = 1_048_576
/** The old and the new buffer are in memory together. */
const GROWTH = 1.5
/** A UTF-16 code unit takes at most 3 bytes in UTF-8. */
const UTF8_BYTES_MAX = 3

/** Numbers texts, equal texts once, in a tenth of the memory of a `Map`: a registry has millions of names. */
export class TextPool {
  #bytes = Buffer.allocUnsafe(BYTES_AT_FIRST)
  #ends = new Uint32Array(TEXTS_AT_FIRST)
  #slots = new HashSlots()
  #size = 0

  /** Number of different texts. */
  get size(): number {
    return this.#size
  }

  /** Frees the memory that only `add` needs. Do not add afterwards. */
  close(): void {
    this.#slots = new HashSlots()
  }

  /** The number of a text, from 0. */
  add(text: string): number {
    const size = this.#size
    const start = this.#startOf(size)
    this.#reserve(start + UTF8_BYTES_MAX * text.length)
    // Written in place: it stays there if it is new.
    const end = start + this.#bytes.write(text, start)
    const number = this.#slots.numberOf(hashOfBytes(this.#bytes, start, end), (other) =>
      this.#equals(other, start, end),
    )
    if (number === size) {
      if (size === this.#ends.length) this.#ends = doubled(this.#ends)
      this.#ends[number] = end
      this.#size++
    }
    return number
  }

  /** The text with a number. */
  at(number: number): string {
    return this.#bytes.toString('utf8', this.#startOf(number), this.#ends[number])
  }

  #startOf(number: number): number {
    return number === 0 ? 0 : this.#ends[number - 1]!
  }

  #equals(number: number, start: number, end: number): boolean {
    const from = this.#startOf(number)
    return this.#bytes.compare(this.#bytes, from, this.#ends[number], start, end) === 0
  }

  #reserve(bytes: number): void {
    if (bytes > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes], Math.max(bytes, Math.ceil(GROWTH * this.#bytes.length)))
  }
}
