import type { AsSize } from '../../providers/mmdb/as-sizes.ts'

/** More names than a text can hold. */
const NAMES_MAX = 2 ** 31

/**
 * Collects a record for each AS number and name, and the size of each AS. It keeps columns of numbers: with a hundred
 * thousand objects, garbage collection would take half of the time.
 */
export class AsRecords {
  readonly #asns: number[] = []
  readonly #names: string[] = []
  readonly #systems: number[] = []
  readonly #systemOf = new Map<number, number>()
  readonly #nameNumbers = new Map<string, number>()
  /** Records by AS and number of the name. */
  readonly #recordOf = new Map<number, number>()
  /** The last record of each AS, because most have one name. */
  readonly #lastRecords: number[] = []
  readonly #addresses: number[] = []
  readonly #haveV6: boolean[] = []

  /** Number of records. They are numbered from 0. */
  get count(): number {
    return this.#asns.length
  }

  /**
   * Counts a range.
   * @param name `''` for none
   * @param v4Addresses size of the range; undefined for IPv6
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

  /** The size of the AS. Call it after all ranges were added. */
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
