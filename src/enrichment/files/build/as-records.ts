import type { AsSize } from '../../providers/mmdb/as-sizes.ts'

/** More names than a text can hold. */
const NAMES_MAX = 2 ** 31

/**
 * What ranges say of autonomous systems: a record for each number and name, and the size of each system. Columns of numbers
 * and not an object for each: there are a hundred thousand, and half of the time would be garbage collection.
 */
export class AsRecords {
  readonly #asns: number[] = []
  readonly #names: string[] = []
  readonly #systems: number[] = []
  readonly #systemOf = new Map<number, number>()
  readonly #nameNumbers = new Map<string, number>()
  /** Records by system and number of the name. */
  readonly #recordOf = new Map<number, number>()
  /** The last record of each system: most have one name. */
  readonly #lastRecords: number[] = []
  readonly #addresses: number[] = []
  readonly #haveV6: boolean[] = []

  /** How many there are, numbered from 0 in the order in which they were first seen. */
  get count(): number {
    return this.#asns.length
  }

  /**
   * Counts a range.
   * @param name `''` for none
   * @param v4Addresses in the range; undefined for one of IPv6
   * @returns the number of its record
   */
  add(asn: number, name: string, v4Addresses: number | undefined): number {
    const system = this.#systemOf.get(asn) ?? this.#addSystem(asn)
    if (v4Addresses === undefined) this.#haveV6[system] = true
    else this.#addresses[system]! += v4Addresses
    const last = this.#lastRecords[system]!
    if (last >= 0 && this.#names[last] === name) return last
    const record = this.#find(system, asn, name)
    this.#lastRecords[system] = record
    return record
  }

  asn(record: number): number {
    return this.#asns[record]!
  }

  /** `''` for none. */
  name(record: number): string {
    return this.#names[record]!
  }

  /** The size of the system, once all ranges are counted. */
  size(record: number): AsSize {
    const system = this.#systems[record]!
    return { addresses: this.#addresses[system]!, hasV6: this.#haveV6[system]! }
  }

  #addSystem(asn: number): number {
    const system = this.#addresses.push(0) - 1
    this.#haveV6.push(false)
    this.#lastRecords.push(-1)
    this.#systemOf.set(asn, system)
    return system
  }

  #find(system: number, asn: number, name: string): number {
    let number = this.#nameNumbers.get(name)
    if (number === undefined) {
      number = this.#nameNumbers.size
      this.#nameNumbers.set(name, number)
    }
    const key = system * NAMES_MAX + number
    let record = this.#recordOf.get(key)
    if (record === undefined) {
      record = this.#asns.push(asn) - 1
      this.#names.push(name)
      this.#systems.push(system)
      this.#recordOf.set(key, record)
    }
    return record
  }
}
