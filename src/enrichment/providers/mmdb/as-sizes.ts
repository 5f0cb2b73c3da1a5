import type { Facts } from '../../facts.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { OpenMmdb } from './open.ts'
import type { AsnReader, RecordReader } from './read-record.ts'

/** The address space that an AS announces. */
export interface AsSize {
  /** IPv4 addresses. */
  readonly addresses: number
  readonly hasV6: boolean
}

/** `database_type` of files compiled from ranges of autonomous systems. Their records include the size of the AS. */
export const AS_RANGES_TYPE = 'AS ranges'

/** A size as members of a record. */
export function sizeMembers({ addresses, hasV6 }: AsSize): Record<string, number | boolean> {
  return { announced_ipv4_addresses: addresses, announces_ipv6: hasV6 }
}

/** The size in a record, if any. */
function statedSize(record: unknown): AsSize | undefined {
  const { announced_ipv4_addresses: addresses, announces_ipv6: hasV6 } = record as Record<string, unknown>
  return typeof addresses === 'number' && typeof hasV6 === 'boolean' ? { addresses, hasV6 } : undefined
}

/** Reads records that include sizes. */
export function sizedReader(read: RecordReader): RecordReader {
  return (record) => withSize(read(record), () => statedSize(record))
}

/** Adds the size of the record's AS. */
export function withSize(facts: Facts | undefined, sizeOf: (asn: number) => AsSize | undefined): Facts | undefined {
  const size = facts?.evidence.asn === undefined ? undefined : sizeOf(facts.evidence.asn)
  if (facts === undefined || size === undefined) return facts
  return { ...facts, evidence: { ...facts.evidence, asAddresses: size.addresses, asHasV6: size.hasV6 } }
}

/** Nodes between two checks of the time slice: some milliseconds if every record must be decoded. */
const NODES_AT_A_TIME = 2_000
const RECORDS_MAX = 250_000

interface Counted {
  addresses: number
  hasV6: boolean
}

/** The sizes of the autonomous systems in a file, 12 bytes each. */
export class AsSizes {
  /** In ascending order. */
  readonly #numbers: Uint32Array
  readonly #addresses: Float64Array
  readonly #hasV6: Uint8Array

  private constructor(sizes: ReadonlyMap<number, Counted>) {
    this.#numbers = Uint32Array.from(sizes.keys()).sort()
    this.#addresses = Float64Array.from(this.#numbers, (asn) => sizes.get(asn)!.addresses)
    this.#hasV6 = Uint8Array.from(this.#numbers, (asn) => Number(sizes.get(asn)!.hasV6))
  }

  /**
   * Counts in a walk over the whole tree, yielding to other work. Undefined when no record has an AS number, or there are
   * too many records.
   */
  static async of(mmdb: OpenMmdb, read: AsnReader): Promise<AsSizes | undefined> {
    const sizes = new Map<number, Counted>()
    /** Collects the records without an AS number. */
    const unassigned: Counted = { addresses: 0, hasV6: false }
    const byRecord = new Map<number, Counted>()
    const count = (record: number): Counted => {
      const asn = asnOf(record)
      const size = asn === undefined ? unassigned : (sizes.get(asn) ?? { addresses: 0, hasV6: false })
      if (asn !== undefined) sizes.set(asn, size)
      byRecord.set(record, size)
      return size
    }
    const asnOf = (record: number) => {
      try {
        return read(mmdb.decode(record))
      } catch {
        // Reported when a lookup reaches the record.
        return undefined
      }
    }
    let last = -1
    let size = unassigned
    const visit = (record: number, v4Addresses: number | undefined) => {
      // Neighbours often belong to one AS.
      if (record !== last) size = byRecord.get(record) ?? count(record)
      last = record
      if (v4Addresses === undefined) size.hasV6 = true
      else size.addresses += v4Addresses
    }
    const slice = new TimeSlice()
    for (const _ of mmdb.tree.sizes(visit, NODES_AT_A_TIME)) {
      if (byRecord.size > RECORDS_MAX) return undefined
      if (slice.isOver) await slice.next()
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
