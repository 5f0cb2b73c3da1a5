import { HashSlots, hashOfBytes } from './hash-slots.ts'

/** Decodes each name of a text once: a table has five rows per name. */
export class NameTable {
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
