import type { Bot } from '../../../../schemas/bots.ts'
import type { NoiseClass } from '../../../../schemas/classification.ts'
import type { EnrichmentData } from '../../../pipeline/event/enrichment.ts'
import type { AddressRange } from '../../addresses/network.ts'

/** A network in a noise list. */
export interface ListEntry {
  readonly range: AddressRange
  readonly noiseClass: NoiseClass
  /** The bot that the network is published for. Only with the class `bot`; undefined there: an unknown one. */
  readonly bot?: Bot | undefined
  /** Location of the network, if the list has it. */
  readonly location?: EnrichmentData
}

/** A parsed file. */
export interface NoiseList {
  /** Name of the format. */
  readonly recognisedAs: string
  readonly entries: readonly ListEntry[]
  /** Messages about skipped entries. */
  readonly warnings?: readonly string[]
  /** The build date that the file states. */
  readonly builtAt?: Date
}

const NAMED_MAX = 5

/** Collects the entries of a list that cannot be used. The other entries are used. */
export class SkippedEntries {
  readonly #named: string[] = []
  #count = 0

  /** @param where such as `line 7` */
  add(where: string, reason: string): void {
    if (this.#count++ < NAMED_MAX) this.#named.push(`${where}: ${reason}`)
  }

  /** One sentence with the number of entries and the first few of them; empty for none. */
  get warnings(): readonly string[] {
    if (this.#count === 0) return []
    const more = this.#count > NAMED_MAX ? '; …' : ''
    return [`skipped entries: ${this.#count} (${this.#named.join('; ')}${more})`]
  }
}
