const PRIME = 0x0100_0193
const OFFSET_BASIS = 0x811c_9dc5
/** Initial slots; doubled when half are taken. */
const SLOTS_AT_FIRST = 65_536

/** Decodes each name of a text once: a table has five rows per name. */
export class NameTable {
  readonly #text: Buffer
  readonly #decode: (bytes: string) => string | undefined
  /** Hash table with open addressing: numbers of names, from 1; 0 for a free slot. */
  #slots = new Uint32Array(SLOTS_AT_FIRST)
  readonly #names: (string | undefined)[] = ['']
  /** Where the bytes of each name were first seen, and their hash. */
  readonly #starts: number[] = [0]
  readonly #ends: number[] = [0]
  readonly #hashes: number[] = [0]

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
    const hash = this.#hash(start, end)
    const mask = this.#slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot]!
      if (number === 0) return this.#add(slot, hash, start, end)
      if (this.#hashes[number] === hash && this.#isAt(number, start, end)) return this.#names[number]
    }
  }

  #add(slot: number, hash: number, start: number, end: number): string | undefined {
    const name = this.#decode(this.#text.toString('utf8', start, end))
    this.#slots[slot] = this.#names.push(name) - 1
    this.#starts.push(start)
    this.#ends.push(end)
    this.#hashes.push(hash)
    if (2 * this.#names.length > this.#slots.length) this.#grow()
    return name
  }

  /** FNV-1a. */
  #hash(start: number, end: number): number {
    let hash = OFFSET_BASIS
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ this.#text[i]!, PRIME)
    return hash >>> 0
  }

  #isAt(number: number, start: number, end: number): boolean {
    const from = this.#starts[number]!
    if (this.#ends[number]! - from !== end - start) return false
    for (let i = start, j = from; i < end; i++, j++) if (this.#text[i] !== this.#text[j]) return false
    return true
  }

  #grow(): void {
    const slots = new Uint32Array(2 * this.#slots.length)
    const mask = slots.length - 1
    for (let number = 1; number < this.#names.length; number++) {
      let slot = this.#hashes[number]! & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = number
    }
    this.#slots = slots
  }
}
