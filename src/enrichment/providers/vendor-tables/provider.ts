import { setImmediate } from 'node:timers/promises'
import type { Address } from '../../../core/event/address.ts'
import { InputError } from '../../../core/run/errors.ts'
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
const SAMPLES_MAX = 2_000

/**
 * Loads a vendor's table of ranges: recognised by its columns and read like an MMDB of the same vendor.
 * @throws InputError with the reason, and the line where there is one
 */
export async function loadVendorTable({ name, databaseType, rows, rowsMax }: VendorTableOptions): Promise<Provider> {
  const records = new Map<string, VendorRow['record']>()
  const found: RangeEntry<string>[] = []
  for await (const { line, range, record } of rows) {
    if (found.length === rowsMax) throw lineError(line, `more than ${rowsMax} rows`)
    const content = JSON.stringify(record)
    records.set(content, record)
    found.push({ range, value: content })
  }
  if (found.length === 0) throw new InputError('the table has no rows')
  const shape = recognise(databaseType, samplesOf(records))
  if (isUnknown(shape)) {
    throw new InputError(
      `not recognised: a table with the columns ${shape.keys.join(', ') || 'of the addresses alone'}`,
    )
  }
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

function samplesOf(records: ReadonlyMap<string, VendorRow['record']>): VendorRow['record'][] {
  const step = Math.ceil(records.size / SAMPLES_MAX)
  return [...records.values()].filter((_, i) => i % step === 0)
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
