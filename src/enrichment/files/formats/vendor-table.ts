import { setImmediate } from 'node:timers/promises'
import { InputError } from '../../../run/errors.ts'
import { type AddressRange, clip, parseNetwork } from '../../addresses/network.ts'
import { type RangeEntry, RangeMap } from '../../addresses/range-map.ts'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Facts } from '../../facts.ts'
import { openMmdb } from '../../providers/mmdb/open.ts'
import { loadMmdb } from '../../providers/mmdb/provider.ts'
import { recordReader } from '../../providers/mmdb/read-record.ts'
import { isUnknown, recognise, type Shape } from '../../providers/mmdb/recognise.ts'
import { MmdbWriter, type StoredRecord } from '../../providers/mmdb/writer.ts'
import { type Provider, rangeLookup } from '../../providers/provider.ts'
import { lineError } from '../../providers/text/text-file.ts'
import { type DataFormat, type FileToRead, openCompiled, textOf, type WriteFile } from './format.ts'

/** A row: its addresses, and its other columns. */
export interface VendorRow {
  /** Number of its line, from 1. */
  readonly line: number
  readonly range: AddressRange
  /** Named like the members of an MMDB's records: those of `PLAIN` in `providers/mmdb/fields.ts`, and `domain`. */
  readonly record: VendorRecord
}
export type VendorRecord = Readonly<Record<string, string | number | boolean>>

/** A vendor's table of ranges. */
interface VendorTable extends Pick<DataFormat, 'name' | 'ending' | 'recognises'> {
  /** The vendor's name for people; undefined: derived from the columns. */
  readonly vendor?: string
  /** Yields to other work. @param text UTF-8 @throws InputError with the line and the reason */
  rows(text: Buffer): AsyncIterable<VendorRow>
}

interface About {
  /** Number of rows with known values. */
  readonly rows: number
  readonly shape: Shape
}

/** The format of a vendor's table. The table is recognised by its columns and read like an MMDB of the vendor. */
export function vendorTable(table: VendorTable): DataFormat<About> {
  const { name, ending, recognises } = table
  return {
    name,
    ending,
    ...(recognises !== undefined && { recognises }),
    load: (file) => loadRows(table, file),
    compiled: {
      async write(path, limits, write) {
        const text = await textOf(path, limits)
        return await writeRows(table, () => checkedRows(table, text, limits.tableRowsMax), write)
      },
      load: (folder, { shape }, { name, limits: { recordsBytesMax } }) =>
        openCompiled(folder, NETWORKS_FILE, (bytes) =>
          loadMmdb({ name, bytes, mapping: undefined, recordsBytesMax, shape }),
        ),
    },
  }
}

/** The addresses of a row: a CIDR, or `a-b`. @throws InputError with the line */
export function rangeIn(line: number, text: string): AddressRange {
  const range = parseNetwork(text)
  if (typeof range === 'string') throw lineError(line, range)
  if (range.version === 'as') throw lineError(line, `"${clip(text)}" is not a network`)
  return range
}

/** The addresses of a row by its first and its last one, as text or as decimal numbers. @throws InputError with the line */
export function rangeBetween(line: number, first: string, last: string): AddressRange {
  const text = `${first}-${last}`
  if (!DECIMAL.test(first) || !DECIMAL.test(last)) return rangeIn(line, text)
  const range = numberedRange(first, last)
  if (range.last >= 2n ** 128n) throw lineError(line, `"${clip(text)}" is not a range of addresses`)
  if (range.first > range.last) throw lineError(line, `"${clip(text)}" ends before it starts`)
  return range
}

const DECIMAL = /^\d{1,39}$/
const V4_SIZE = 2 ** 32
/** The upper bits of an IPv4 address that is written as an IPv6 address. */
const MAPPED = 0xffffn

function numberedRange(first: string, last: string): AddressRange {
  if (Number(last) < V4_SIZE) return { version: 4, first: Number(first), last: Number(last) }
  const range = { version: 6, first: BigInt(first), last: BigInt(last) } as const
  if (range.first >> 32n !== MAPPED || range.last >> 32n !== MAPPED) return range
  return { version: 4, first: Number(BigInt.asUintN(32, range.first)), last: Number(BigInt.asUintN(32, range.last)) }
}

/** @throws InputError with the line and the reason */
async function* checkedRows(table: VendorTable, text: Buffer, rowsMax: number): AsyncGenerator<VendorRow> {
  let count = 0
  for await (const row of table.rows(text)) {
    if (count++ === rowsMax) throw lineError(row.line, `more than ${rowsMax} rows: take the MMDB of these data`)
    yield row
  }
  if (count === 0) throw new InputError('the table has no rows')
}

/** The first value of each column, by which a table is recognised. */
class ColumnSamples {
  readonly #values: Record<string, string | number | boolean> = Object.create(null)

  note(record: VendorRecord): void {
    for (const column in record) this.#values[column] ??= record[column]!
  }

  /** @throws InputError with the columns when they are not recognised */
  async shapeOf({ name, vendor }: VendorTable): Promise<Shape> {
    const shape = await recognise(name, [this.#values], vendor)
    if (!isUnknown(shape)) return shape
    if (shape.keys.length === 0) throw new InputError(NO_VALUES)
    const columns = shape.keys.join(', ')
    throw new InputError(`not recognised: a table with the columns ${columns}`)
  }
}

const NO_VALUES = 'it adds nothing: no row of the table has a known value; fetch it again, or remove it'

const ROWS_AT_A_TIME = 5_000

async function loadRows(table: VendorTable, { path, name, limits }: FileToRead): Promise<Provider> {
  const records = new Map<string, VendorRecord>()
  const found: RangeEntry<string>[] = []
  const samples = new ColumnSamples()
  for await (const { range, record } of checkedRows(table, await textOf(path, limits), limits.tableRowsMax)) {
    const content = JSON.stringify(record)
    records.set(content, record)
    samples.note(record)
    found.push({ range, value: content })
  }
  const shape = await samples.shapeOf(table)
  const read = recordReader(shape)
  const factsOf = new Map<string, Facts | undefined>()
  const entries: RangeEntry<Facts>[] = []
  for (const [i, { range, value: content }] of found.entries()) {
    if (i % ROWS_AT_A_TIME === 0) await setImmediate()
    if (!factsOf.has(content)) factsOf.set(content, read(records.get(content)))
    const facts = factsOf.get(content)
    if (facts !== undefined) entries.push({ range, value: facts })
  }
  if (entries.length === 0) throw new InputError(NO_VALUES)
  const networks = await RangeMap.build(entries)
  const recognisedAs = `${shape.recognisedAs} table`
  const about = { name, kind: shape.kind, recognisedAs, builtAt: undefined, records: networks.size, warnings: [] }
  return { ...about, ...rangeLookup(networks) }
}

/** The file of a compiled form that has its networks. */
export const NETWORKS_FILE = 'networks.mmdb'

/** Verifies and writes the networks of a compiled form. */
export async function writeNetworks(writer: MmdbWriter, write: WriteFile): Promise<void> {
  const bytes = writer.toBuffer()
  await openMmdb(bytes)
  await write(NETWORKS_FILE, [bytes])
}

const KNOWN_MAX = 200_000

/** Writes the rows as an MMDB. It needs two passes, because the meaning of a column depends on the other columns. */
async function writeRows(table: VendorTable, rowsOf: () => AsyncIterable<VendorRow>, write: WriteFile): Promise<About> {
  const samples = new ColumnSamples()
  for await (const { record } of rowsOf()) samples.note(record)
  const shape = await samples.shapeOf(table)
  const read = recordReader(shape)
  // The table has no build date.
  const description = { en: `${shape.recognisedAs} table` }
  const writer = new MmdbWriter({ databaseType: table.name, description, buildEpoch: 0 })
  // Many networks share a record.
  const known = new BoundedCache<string, StoredRecord>(KNOWN_MAX)
  let rows = 0
  for await (const { range, record } of rowsOf()) {
    const content = JSON.stringify(record)
    let stored = known.get(content)
    if (stored === undefined) {
      // A row without known values must not hide a larger network.
      if (read(record) === undefined) continue
      stored = writer.store(record)
      known.set(content, stored)
    }
    writer.insertStored(range, stored)
    rows++
  }
  if (rows === 0) throw new InputError(NO_VALUES)
  await writeNetworks(writer, write)
  return { rows, shape }
}
