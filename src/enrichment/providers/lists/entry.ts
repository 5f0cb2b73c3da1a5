import type { NoiseClass } from '../../../../schemas/classification.ts'
import type { EnrichmentData } from '../../../pipeline/event/enrichment.ts'
import type { AddressRange } from '../../addresses/network.ts'

/** A network of a list of noise. */
export interface ListEntry {
  readonly range: AddressRange
  readonly noiseClass: NoiseClass
  /** Where the network is, for lists that say so. */
  readonly location?: EnrichmentData
}

/** What a file was read as. */
export interface NoiseList {
  /** In words. */
  readonly recognisedAs: string
  readonly entries: readonly ListEntry[]
  /** Entries that were left out, in words. */
  readonly warnings?: readonly string[]
  /** The build date that the file states. */
  readonly builtAt?: Date
}
