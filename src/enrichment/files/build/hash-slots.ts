import { doubled } from '../../columns.ts'

const PRIME = 0x0100_0193
const OFFSET_BASIS = 0x811c_9dc5
/** Initial slots; doubled when half are taken. */
const SLOTS_AT_FIRST = 65_536

/** Gives each distinct key a number. The caller stores the keys: this is a hash table with open addressing. */
export class HashSlots {
  /** Numbers of keys plus 1; 0 for a free slot. */
  #slots = new Uint32Array(SLOTS_AT_FIRST)
  /** By number. */
  #hashes = new Uint32Array(SLOTS_AT_FIRST / 2)
  #size = 0

  /** Number of different keys. */
  get size(): number {
    return this.#size
  }

  /**
   * The number of a key, from 0. A new key gets the next one, which is `size` before the call.
   * @param isKey whether the key with this number equals the searched one
   */
  numberOf(hash: number, isKey: (number: number) => boolean): number {
    const mask = this.#slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot]! - 1
      if (number < 0) return this.#add(slot, hash)
      if (this.#hashes[number] === hash && isKey(number)) return number
    }
  }

  #add(slot: number, hash: number): number {
    if (this.#size === this.#hashes.length) this.#hashes = doubled(this.#hashes)
    const number = this.#size++
    this.#hashes[number] = hash
    this.#slots[slot] = number + 1
    if (2 * this.#size > this.#slots.length) this.#grow()
    return number
  }

  #grow(): void {
    const slots = new Uint32Array(2 * this.#slots.length)
    const mask = slots.length - 1
    for (let number = 0; number < this.#size; number++) {
      let slot = this.#hashes[number]! & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = number + 1
    }
    this.#slots = slots
  }
}

/** FNV-1a. */
export function hashOfBytes(bytes: Buffer, start: number, end: number): number {
  let hash = OFFSET_BASIS
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, PRIME)
  return hash >>> 0
}
