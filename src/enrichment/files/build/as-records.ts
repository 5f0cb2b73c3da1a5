import type { WordRange } from '../../addresses/word-range.ts'
import { type AsSpace, SpaceCounts } from '../../providers/mmdb/as-space.ts'

/** More names than a text can hold. */
const NAMES_MAX = 2 ** 31

/**
 * Collects a record for each AS number and name, and the address space of each AS. It keeps columns, like
 * `SpaceCounts`.
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
  readonly #spaces = new SpaceCounts()

  /** Number of records. They are numbered from 0. */
  get count(): number {
    return this.#asns.length
  }

  /**
   * Counts a range.
   * @param name `''` for none
   * @returns the number of its record
   */
  add(asn: number, name: string, { first, last }: WordRange): number {
    const system = this.#systemOf.get(asn) ?? this.#addSystem(asn)
    if (first.length === 1) this.#spaces.addV4(system, first[0]!, last[0]!)
    else this.#spaces.addV6(system)
    const before = this.#lastRecords[system]!
    if (before >= 0 && this.#names[before] === name) return before
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

  /** The address space of the AS. Call it after all ranges were added. */
  space(record: number): AsSpace {
    return this.#spaces.of(this.#systems[record]!)
  }

  #addSystem(asn: number): number {
    const system = this.#spaces.add()
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
