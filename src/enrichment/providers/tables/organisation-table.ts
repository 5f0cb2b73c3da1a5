import type { Address } from '../../../pipeline/event/address.ts'
import type { Facts } from '../../facts.ts'
import type { Provider } from '../provider.ts'

export interface OrganisationTableParts {
  readonly name: string
  readonly recognisedAs: string
  readonly records: number
  readonly unknownColumns: readonly string[]
  /** Undefined: no row names a network. */
  readonly networks: Pick<Provider, 'find' | 'networkOf'> | undefined
  /** Of rows that name an AS. */
  readonly systems: ReadonlyMap<number, Facts>
}

/** An organisation table, read or compiled. */
export class OrganisationTable implements Provider {
  readonly name: string
  readonly kind = 'table'
  readonly recognisedAs: string
  readonly builtAt = undefined
  readonly records: number
  readonly warnings: readonly string[]
  readonly #networks: OrganisationTableParts['networks']
  readonly #systems: OrganisationTableParts['systems']

  constructor({ name, recognisedAs, records, unknownColumns, networks, systems }: OrganisationTableParts) {
    this.name = name
    this.recognisedAs = recognisedAs
    this.records = records
    this.warnings = unknownColumns.length === 0 ? [] : [`columns not known: ${unknownColumns.join(', ')}`]
    this.#networks = networks
    this.#systems = systems
  }

  find(address: Address): Facts | undefined {
    return this.#networks?.find(address)
  }

  networkOf(address: Address): string | undefined {
    return this.#networks?.networkOf(address)
  }

  findAs(asn: number): Facts | undefined {
    return this.#systems.get(asn)
  }
}
