import { setImmediate } from 'node:timers/promises'
import type { OpenMmdb } from './open.ts'
import type { RecordReader } from './read-record.ts'

/** How much address space an AS announces. */
export interface AsSize {
  /** Of IPv4. */
  readonly addresses: number
  readonly hasV6: boolean
}

/** Networks that are counted without a pause: less than 10 ms. */
const NETWORKS_AT_A_TIME = 20_000
const RECORDS_MAX = 500_000

/** The sizes of the autonomous systems in a file, 12 bytes each. */
export class AsSizes {
  /** In ascending order. */
  readonly #numbers: Uint32Array
  readonly #addresses: Float64Array
  readonly #hasV6: Uint8Array

  private constructor(sizes: ReadonlyMap<number, { addresses: number; hasV6: boolean }>) {
    this.#numbers = Uint32Array.from(sizes.keys()).sort()
    this.#addresses = Float64Array.from(this.#numbers, (asn) => sizes.get(asn)!.addresses)
    this.#hasV6 = Uint8Array.from(this.#numbers, (asn) => Number(sizes.get(asn)!.hasV6))
  }

  /** Counts by a walk over the whole tree; other work goes on in between. Undefined when no record holds an AS number. */
  static async of(mmdb: OpenMmdb, read: RecordReader): Promise<AsSizes | undefined> {
    const sizes = new Map<number, { addresses: number; hasV6: boolean }>()
    const byRecord = new Map<number, { addresses: number; hasV6: boolean } | undefined>()
    const sizeOf = (record: number) => {
      const asn = read(mmdb.decode(record))?.evidence.asn
      if (asn === undefined) return undefined
      const size = sizes.get(asn) ?? { addresses: 0, hasV6: false }
      sizes.set(asn, size)
      return size
    }
    let networks = 0
    for (const { record, v4Addresses } of mmdb.tree.sizes()) {
      networks += 1
      if (networks % NETWORKS_AT_A_TIME === 0) await setImmediate()
      if (!byRecord.has(record)) {
        if (byRecord.size === RECORDS_MAX) return undefined
        byRecord.set(record, sizeOf(record))
      }
      const size = byRecord.get(record)
      if (size === undefined) continue
      if (v4Addresses === undefined) size.hasV6 = true
      else size.addresses += v4Addresses
    }
    return sizes.size === 0 ? undefined : new AsSizes(sizes)
  }

  of(asn: number): AsSize | undefined {
    let from = 0
    let to = this.#numbers.length
    while (from < to) {
      const middle = (from + to) >>> 1
      if (this.#numbers[middle]! < asn) from = middle + 1
      else to = middle
    }
    if (this.#numbers[from] !== asn) return undefined
    return { addresses: this.#addresses[from]!, hasV6: this.#hasV6[from] === 1 }
  }
}
