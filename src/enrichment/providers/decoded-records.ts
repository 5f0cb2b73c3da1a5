import { BoundedCache, charactersIn } from '../bounded-cache.ts'
import type { Facts } from '../facts.ts'

/** A record of a file as facts. */
export interface Decoded {
  /** Undefined for a record without known values. */
  readonly facts: Facts | undefined
}

/** A cache of decoded records, by their number or position. @param bytesMax of memory */
export function decodedRecords(bytesMax: number): BoundedCache<number, Decoded> {
  return new BoundedCache(bytesMax, { entry: (_, record) => ENTRY_BYTES + bytesOf(record) })
}

/** Bytes of V8's heap, measured with the default data. */
const ENTRY_BYTES = 100
const FACTS_BYTES = 620

function bytesOf({ facts }: Decoded): number {
  return facts === undefined ? 0 : FACTS_BYTES + charactersIn(facts.data) + charactersIn(facts.evidence)
}
