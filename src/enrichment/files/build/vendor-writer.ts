import { InputError } from '../../../run/errors.ts'
import { BoundedCache } from '../../bounded-cache.ts'
import { recordReader } from '../../providers/mmdb/read-record.ts'
import type { Shape } from '../../providers/mmdb/recognise.ts'
import { MmdbWriter, type StoredRecord } from '../../providers/mmdb/writer.ts'
import { ColumnSamples, checkedRows } from '../../providers/vendor-tables/provider.ts'
import type { VendorTable } from '../../providers/vendor-tables/rows.ts'

const KNOWN_MAX = 200_000

/** A vendor's table as an MMDB under construction. */
export interface WrittenVendorTable {
  readonly writer: MmdbWriter
  /** Rows that say something. */
  readonly rows: number
  /** How the records are read. */
  readonly shape: Shape
}

/**
 * Writes a vendor's table into an MMDB, in two passes: what a column means depends on which others there are.
 * @param table gives it anew for each pass
 * @throws InputError with the reason, and the line where there is one
 */
export async function writeVendorTable(table: () => VendorTable, rowsMax: number): Promise<WrittenVendorTable> {
  const { databaseType } = table()
  const samples = new ColumnSamples()
  for await (const { record } of checkedRows(table(), rowsMax)) samples.note(record)
  const shape = await samples.shapeOf(databaseType)
  const read = recordReader(shape)
  // Like the table, the file does not say when its data were built.
  const writer = new MmdbWriter({ databaseType, description: { en: `${shape.recognisedAs} table` }, buildEpoch: 0 })
  // The same is said of many networks.
  const known = new BoundedCache<string, StoredRecord>(KNOWN_MAX)
  let rows = 0
  for await (const { range, record } of checkedRows(table(), rowsMax)) {
    const content = JSON.stringify(record)
    let stored = known.get(content)
    if (stored === undefined) {
      // A row that says nothing hides none around it.
      if (read(record) === undefined) continue
      stored = writer.store(record)
      known.set(content, stored)
    }
    writer.insertStored(range, stored)
    rows++
  }
  if (rows === 0) throw new InputError('no row of the table says anything')
  return { writer, rows, shape }
}
