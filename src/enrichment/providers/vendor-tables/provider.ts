import { setImmediate } from 'node:timers/promises'
import { InputError } from '../../../run/errors.ts'
import { type RangeEntry, RangeMap } from '../../addresses/range-map.ts'
import type { Facts } from '../../facts.ts'
import { recordReader } from '../mmdb/read-record.ts'
import { isUnknown, recognise, type Shape } from '../mmdb/recognise.ts'
import { type Provider, rangeLookup } from '../provider.ts'
import { lineError } from '../text/text-file.ts'
import type { VendorRow, VendorTable } from './rows.ts'

interface VendorTableOptions extends VendorTable {
  readonly name: string
  readonly rowsMax: number
}

const ROWS_AT_A_TIME = 5_000

/**
 * The rows of a vendor's table.
 * @throws InputError with the line and the reason
 */
export async function* checkedRows({ rows }: VendorTable, rowsMax: number): AsyncGenerator<VendorRow> {
  let count = 0
  for await (const row of rows) {
    if (count++ === rowsMax) throw lineError(row.line, `more than ${rowsMax} rows`)
    yield row
  }
  if (count === 0) throw new InputError('the table has no rows')
}

/** The first value of each column, by which a table is recognised. */
export class ColumnSamples {
  readonly #values: Record<string, string> = Object.create(null)

  note(record: VendorRow['record']): void {
    for (const column in record) this.#values[column] ??= record[column]!
  }

  /** @throws InputError with the columns when they are not recognised */
  async shapeOf(databaseType: string): Promise<Shape> {
    const shape = await recognise(databaseType, [this.#values])
    if (!isUnknown(shape)) return shape
    const columns = shape.keys.join(', ') || 'of the addresses alone'
    throw new InputError(`not recognised: a table with the columns ${columns}`)
  }
}

/**
 * Loads a vendor's table of ranges. It is recognised by its columns and read like an MMDB of the vendor.
 * @throws InputError with the reason, and the line if known
 */
export async function loadVendorTable({ name, rowsMax, ...table }: VendorTableOptions): Promise<Provider> {
  const records = new Map<string, VendorRow['record']>()
  const found: RangeEntry<string>[] = []
  const samples = new ColumnSamples()
  for await (const { range, record } of checkedRows(table, rowsMax)) {
    const content = JSON.stringify(record)
    records.set(content, record)
    samples.note(record)
    found.push({ range, value: content })
  }
  const shape = await samples.shapeOf(table.databaseType)
  const read = recordReader(shape)
  const factsOf = new Map<string, Facts | undefined>()
  const entries: RangeEntry<Facts>[] = []
  for (const [i, { range, value: content }] of found.entries()) {
    if (i % ROWS_AT_A_TIME === 0) await setImmediate()
    if (!factsOf.has(content)) factsOf.set(content, read(records.get(content)))
    const facts = factsOf.get(content)
    if (facts !== undefined) entries.push({ range, value: facts })
  }
  const networks = await RangeMap.build(entries)
  const recognisedAs = `${shape.recognisedAs} table`
  const about = { name, kind: shape.kind, recognisedAs, builtAt: undefined, records: networks.size, warnings: [] }
  return { ...about, ...rangeLookup(networks) }
}
