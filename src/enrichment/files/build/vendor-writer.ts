import { InputError } from '../../../run/errors.ts'
import { BoundedCache } from '../../bounded-cache.ts'
import { recordReader } from '../../providers/mmdb/read-record.ts'
import type { Shape } from '../../providers/mmdb/recognise.ts'
import { MmdbWriter, type StoredRecord } from '../../providers/mmdb/writer.ts'
import { ColumnSamples, checkedRows } from '../../providers/vendor-tables/provider.ts'
import type { VendorTable } from '../../providers/vendor-tables/rows.ts'

const KNOWN_MAX = 200_000

interface WrittenVendorTable {
  readonly writer: MmdbWriter
  /** Number of rows with known values. */
  readonly rows: number
  readonly shape: Shape
}

/**
 * Writes a vendor's table into an MMDB. It needs two passes, because the meaning of a column depends on the other columns.
 * @param table opens the table for each pass
 * @throws InputError with the reason, and the line if known
 */
export async function writeVendorTable(table: () => VendorTable, rowsMax: number): Promise<WrittenVendorTable> {
  const { databaseType } = table()
  const samples = new ColumnSamples()
  for await (const { record } of checkedRows(table(), rowsMax)) samples.note(record)
  const shape = await samples.shapeOf(databaseType)
  const read = recordReader(shape)
  // The table has no build date.
  const writer = new MmdbWriter({ databaseType, description: { en: `${shape.recognisedAs} table` }, buildEpoch: 0 })
  // Many networks share a record.
  const known = new BoundedCache<string, StoredRecord>(KNOWN_MAX)
  let rows = 0
  for await (const { range, record } of checkedRows(table(), rowsMax)) {
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
  if (rows === 0) throw new InputError('no row of the table has a known value')
  return { writer, rows, shape }
}
