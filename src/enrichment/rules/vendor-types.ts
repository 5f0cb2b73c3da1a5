import type { Classification } from '../../../schemas/classification.ts'
import { classesByEntry, once, readSections } from './sections.ts'

export const vendorTypes = once(() => classesByEntry(readSections('vendor-types.txt')))

/** The classification that a vendor's type stands for, or undefined for a type that says nothing. */
export function classifyVendorType(type: string): Classification | undefined {
  return type === '' ? undefined : vendorTypes().get(type.trim().toLowerCase())
}

/** What a connection type says of an address. */
export type Connection = 'consumer' | 'fixed-line' | 'corporate'

export const connectionTypes = once(
  () =>
    new Map(
      readSections('connection-types.txt').flatMap(({ heading, entries }) =>
        entries.map((entry) => [entry, heading[0] as Connection] as const),
      ),
    ),
)

/** Reads a vendor's connection type, or undefined for one that says nothing. */
export function readConnection(type: string): Connection | undefined {
  return type === '' ? undefined : connectionTypes().get(type.trim().toLowerCase())
}
