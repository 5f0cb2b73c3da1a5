import type { Address } from '../../../pipeline/event/address.ts'
import type { Facts } from '../../facts.ts'
import type { Organisation } from '../../rules/evidence.ts'
import type { Provider } from '../provider.ts'
import type { OrganisationsByName } from './organisations-by-name.ts'

interface OrganisationTableOptions {
  readonly name: string
  readonly recognisedAs: string
  readonly records: number
  readonly unknownColumns: readonly string[]
  /** No row has a known value. */
  readonly isBlank: boolean
  /** Undefined when no row is about a network. */
  readonly networks: Pick<Provider, 'find' | 'networkOf'> | undefined
  /** Rows about an AS, by AS number. */
  readonly systems: { get(asn: number): Facts | undefined }
  /** Undefined for a compiled table: it has too many rows to hold their names in memory. */
  readonly organisations: OrganisationsByName | undefined
}

/** An organisation table, from its text or compiled. */
export class OrganisationTable implements Provider {
  readonly name: string
  readonly kind = 'table'
  readonly recognisedAs: string
  readonly builtAt = undefined
  readonly records: number
  readonly warnings: readonly string[]
  readonly isBlank: boolean
  readonly #networks: OrganisationTableOptions['networks']
  readonly #systems: OrganisationTableOptions['systems']
  readonly #organisations: OrganisationTableOptions['organisations']

  constructor({
    name,
    recognisedAs,
    records,
    unknownColumns,
    isBlank,
    networks,
    systems,
    organisations,
  }: OrganisationTableOptions) {
    this.name = name
    this.recognisedAs = recognisedAs
    this.records = records
    this.warnings = unknownColumns.length === 0 ? [] : [`unknown columns: ${unknownColumns.join(', ')}`]
    this.isBlank = isBlank
    this.#networks = networks
    this.#systems = systems
    this.#organisations = organisations
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

  findOrganisation(organisation: Organisation, country: string | undefined): Facts | undefined {
    return this.#organisations?.find(organisation, country)
  }
}
