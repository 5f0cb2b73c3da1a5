import type { Classification } from '../../../schemas/classification.ts'
import { classesByEntry, once, readSections } from './sections.ts'

export const vendorTypes = once(() => classesByEntry(readSections('vendor-types.txt')))

/** The classification of a vendor's type; undefined for an unknown type. */
export function classifyVendorType(type: string): Classification | undefined {
  return type === '' ? undefined : vendorTypes().get(type.trim().toLowerCase())
}

/** Kinds of connection types. */
type Connection = 'consumer' | 'fixed-line' | 'corporate'

export const connectionTypes = once(
  () =>
    new Map(
      readSections('connection-types.txt').flatMap(({ heading, entries }) =>
        entries.map((entry) => [entry, heading[0] as Connection] as const),
      ),
    ),
)

/** The kind of a vendor's connection type; undefined for an unknown one. */
export function readConnection(type: string): Connection | undefined {
  return type === '' ? undefined : connectionTypes().get(type.trim().toLowerCase())
}
