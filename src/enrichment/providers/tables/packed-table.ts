import type { RangeIndex } from '../../addresses/range-index.ts'
import { firstAtLeast } from '../../columns.ts'
import { nextTexts, type PackedTexts } from '../packed-texts.ts'
import type { Provider } from '../provider.ts'
import { nextIndex, type StoredIndex, storedIndex } from '../ranges/range-file.ts'
import {
  type Column,
  type OpenSealedFile,
  openSealedFile,
  type SealedHead,
  type SealedKind,
  sealFile,
} from '../sealed-file.ts'
import { OrganisationTable } from './organisation-table.ts'
import { type NameIndexes, OrganisationsByName } from './organisations-by-name.ts'
import { PackedRows, packRow } from './packed-rows.ts'
import { TextIndex } from './text-index.ts'

/** A table as columns. A process makes it from the table's text, or reads it from a sealed file. */
export interface PackedTable {
  /** Number of rows of the text. */
  readonly records: number
  readonly unknownColumns: readonly string[]
  /** Its owners are the numbers of the networks. */
  readonly index: RangeIndex
  readonly networks: PackedTexts
  /** The row of each network. */
  readonly networkRows: Uint32Array
  /** AS numbers, in ascending order. */
  readonly systems: Uint32Array
  /** The row of each AS. */
  readonly systemRows: Uint32Array
  /** The results of `packRow`. */
  readonly rows: PackedTexts
  /** Undefined for a table that does not match by name. */
  readonly names: NameIndexes | undefined
}

export const PACKED_TABLE: SealedKind = { magic: 'ipidtbl1', name: 'a packed table' }

interface TableHead extends SealedHead, StoredIndex, Pick<PackedTable, 'records' | 'unknownColumns'> {
  readonly hasNames: boolean
}

/** @param source the origin of the table */
export function sealTable(source: string, table: PackedTable): Buffer {
  const { records, unknownColumns, networks, networkRows, systems, systemRows, rows, names } = table
  const { stored, columns } = storedIndex(table.index)
  const head: TableHead = { source, ...stored, records, unknownColumns, hasNames: names !== undefined }
  const indexes = names === undefined ? [] : [names.domains, names.texts, names.keys]
  return sealFile(PACKED_TABLE, head, [
    ...columns,
    ...[networks.ends, networks.bytes, networkRows, systems, systemRows, rows.ends, rows.bytes],
    ...indexes.flatMap(({ hashes, numbers }): Column[] => [hashes, numbers]),
  ])
}

/** Opens a file of `sealTable` and verifies all of it. @throws InputError when it is damaged or another kind of file */
export function openTable(bytes: Buffer): { readonly source: string; readonly table: PackedTable } {
  const file = openSealedFile<TableHead>(PACKED_TABLE, bytes)
  const { source, records, unknownColumns, hasNames } = file.head
  const table = {
    ...{ records, unknownColumns },
    index: nextIndex(file),
    networks: nextTexts(file),
    networkRows: file.next(Uint32Array),
    systems: file.next(Uint32Array),
    systemRows: file.next(Uint32Array),
    rows: nextTexts(file),
    names: hasNames
      ? { domains: nextTextIndex(file), texts: nextTextIndex(file), keys: nextTextIndex(file) }
      : undefined,
  }
  return { source, table }
}

function nextTextIndex(file: OpenSealedFile<SealedHead>): TextIndex {
  const hashes = file.next(Uint32Array)
  return new TextIndex(hashes, file.next(Uint32Array))
}

const BLANK_ROW = packRow({}, undefined)

/** @param name the provider's */
export function tableOf(name: string, table: PackedTable): Provider {
  const { records, unknownColumns, index, networks, networkRows, systems, systemRows, names } = table
  const rows = new PackedRows(table.rows)
  return new OrganisationTable({
    ...{ name, recognisedAs: 'organisation table', records, unknownColumns },
    isBlank: table.rows.ends.length === 1 && table.rows.at(0) === BLANK_ROW,
    networks: {
      find(address) {
        const network = index.find(address)
        return network < 0 ? undefined : rows.facts(networkRows[network]!)
      },
      networkOf(address) {
        const network = index.find(address)
        return network < 0 ? undefined : networks.at(network)
      },
    },
    systems: {
      get(asn) {
        const at = firstAtLeast(systems, asn)
        return systems[at] === asn ? rows.facts(systemRows[at]!) : undefined
      },
    },
    organisations: names && new OrganisationsByName(rows, names),
  })
}
