import { setImmediate } from 'node:timers/promises'
import type { Address } from '../../../pipeline/event/address.ts'
import { InputError } from '../../../run/errors.ts'
import { formatRange } from '../../addresses/network.ts'
import { type RangeEntry, RangeMap } from '../../addresses/range-map.ts'
import type { Facts } from '../../facts.ts'
import { recordReader } from '../mmdb/read-record.ts'
import { isUnknown, recognise, type Shape } from '../mmdb/recognise.ts'
import type { Provider } from '../provider.ts'
import { lineError } from '../text/text-file.ts'
import type { VendorRow, VendorTable } from './rows.ts'

/** How a vendor's table is loaded. */
export interface VendorTableOptions extends VendorTable {
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

/** The first value of each column: by what columns there are, a table is recognised. */
export class ColumnSamples {
  readonly #values: Record<string, string> = Object.create(null)

  note(record: VendorRow['record']): void {
    for (const column in record) this.#values[column] ??= record[column]!
  }

  /** @throws InputError that names the columns when nobody knows them */
  async shapeOf(databaseType: string): Promise<Shape> {
    const shape = await recognise(databaseType, [this.#values])
    if (!isUnknown(shape)) return shape
    const columns = shape.keys.join(', ') || 'of the addresses alone'
    throw new InputError(`not recognised: a table with the columns ${columns}`)
  }
}

/**
 * Loads a vendor's table of ranges: recognised by its columns and read like an MMDB of the same vendor.
 * @throws InputError with the reason, and the line where there is one
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
  return new VendorTableProvider(name, shape, entries.length, await RangeMap.build(entries))
}

class VendorTableProvider implements Provider {
  readonly name: string
  readonly kind: Shape['kind']
  readonly recognisedAs: string
  readonly builtAt = undefined
  readonly records: number
  readonly warnings: readonly string[] = []
  readonly #networks: RangeMap<Facts>

  constructor(name: string, { kind, recognisedAs }: Shape, records: number, networks: RangeMap<Facts>) {
    this.name = name
    this.kind = kind
    this.recognisedAs = `${recognisedAs} table`
    this.records = records
    this.#networks = networks
  }

  find(address: Address): Facts | undefined {
    return this.#networks.find(address)?.value
  }

  networkOf(address: Address): string | undefined {
    const entry = this.#networks.find(address)
    return entry === undefined ? undefined : formatRange(entry.range)
  }
}
