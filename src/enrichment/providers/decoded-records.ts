import { BoundedCache } from '../bounded-cache.ts'
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
const FACTS_BYTES = 500
/** Of a text, besides its characters. */
const TEXT_BYTES = 24

function bytesOf({ facts }: Decoded): number {
  return facts === undefined ? 0 : FACTS_BYTES + textBytes(facts.data) + textBytes(facts.evidence)
}

function textBytes(values: object): number {
  let bytes = 0
  for (const value of Object.values(values)) if (typeof value === 'string') bytes += TEXT_BYTES + value.length
  return bytes
}
