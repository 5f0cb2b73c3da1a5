import { firstAtLeast } from '../../columns.ts'
import type { Facts } from '../../facts.ts'
import { TimeSlice } from '../../time-slice.ts'
import { type AsSpace, SpaceCounts } from './as-space.ts'
import type { OpenMmdb } from './open.ts'
import type { AsnReader, RecordReader } from './read-record.ts'

/** `database_type` of files compiled from ranges of autonomous systems. Their records include the address space of the AS. */
export const AS_RANGES_TYPE = 'AS ranges'

/** The address space as members of a record. Numbers take half of the memory of flags. */
export function spaceMembers({ addresses, hasV6, scatter }: AsSpace): Record<string, number> {
  return { announced_ipv4_addresses: addresses, announces_ipv6: hasV6 ? 1 : 0, announced_ipv4_scatter: scatter }
}

/** The address space in a record, if any. */
function statedSpace(record: unknown): AsSpace | undefined {
  const {
    announced_ipv4_addresses: addresses,
    announces_ipv6: hasV6,
    announced_ipv4_scatter: scatter,
  } = record as Record<string, unknown>
  if (typeof addresses !== 'number' || typeof hasV6 !== 'number' || typeof scatter !== 'number') return undefined
  return { addresses, hasV6: hasV6 === 1, scatter }
}

/** Reads records that include the address space. */
export function sizedReader(read: RecordReader): RecordReader {
  return (record) => withSpace(read(record), () => statedSpace(record))
}

/** Adds the address space of the record's AS. */
export function withSpace(facts: Facts | undefined, spaceOf: (asn: number) => AsSpace | undefined): Facts | undefined {
  const space = facts?.evidence.asn === undefined ? undefined : spaceOf(facts.evidence.asn)
  if (facts === undefined || space === undefined) return facts
  const { addresses, hasV6, scatter } = space
  return { ...facts, evidence: { ...facts.evidence, asAddresses: addresses, asHasV6: hasV6, asScatter: scatter } }
}

/** Nodes between two checks of the time slice: some milliseconds if every record must be decoded. */
const NODES_AT_A_TIME = 2_000
const RECORDS_MAX = 250_000

/** Collects the records without an AS number. */
const UNASSIGNED = -1

/** The address space of the autonomous systems in a file, 17 bytes each. */
export class AsSizes {
  /** In ascending order. */
  readonly #numbers: Uint32Array
  readonly #addresses: Float64Array
  readonly #hasV6: Uint8Array
  readonly #scatters: Uint32Array

  private constructor(systems: ReadonlyMap<number, number>, counts: SpaceCounts) {
    this.#numbers = Uint32Array.from(systems.keys()).sort()
    this.#addresses = new Float64Array(systems.size)
    this.#hasV6 = new Uint8Array(systems.size)
    this.#scatters = new Uint32Array(systems.size)
    for (const [i, asn] of this.#numbers.entries()) {
      const { addresses, hasV6, scatter } = counts.of(systems.get(asn)!)
      this.#addresses[i] = addresses
      this.#hasV6[i] = Number(hasV6)
      this.#scatters[i] = scatter
    }
  }

  /**
   * Counts in a walk over the whole tree, yielding to other work. Undefined when no record has an AS number, or there are
   * too many records.
   */
  static async of(mmdb: OpenMmdb, read: AsnReader): Promise<AsSizes | undefined> {
    const counts = new SpaceCounts()
    const systems = new Map<number, number>()
    const byRecord = new Map<number, number>()
    const addRecord = (record: number): number => {
      const asn = asnOf(record)
      const system = asn === undefined ? UNASSIGNED : (systems.get(asn) ?? counts.add())
      if (asn !== undefined) systems.set(asn, system)
      byRecord.set(record, system)
      return system
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
    let system = UNASSIGNED
    const visit = (record: number, v4First: number, v4Addresses: number) => {
      // Neighbours often belong to one AS.
      if (record !== last) system = byRecord.get(record) ?? addRecord(record)
      last = record
      if (system === UNASSIGNED) return
      if (v4Addresses === 0) counts.addV6(system)
      else counts.addV4(system, v4First, v4First + v4Addresses - 1)
    }
    const slice = new TimeSlice()
    for (const _ of mmdb.tree.sizes(visit, NODES_AT_A_TIME)) {
      if (byRecord.size > RECORDS_MAX) return undefined
      if (slice.isOver) await slice.next()
    }
    return systems.size === 0 ? undefined : new AsSizes(systems, counts)
  }

  of(asn: number): AsSpace | undefined {
    const at = firstAtLeast(this.#numbers, asn)
    if (this.#numbers[at] !== asn) return undefined
    return { addresses: this.#addresses[at]!, hasV6: this.#hasV6[at] === 1, scatter: this.#scatters[at]! }
  }
}
