import type { ChdbAddon, Connection } from './addon.ts'
import { NOTHING_DONE, type Summary } from './reading.ts'

/**
 * Runs an INSERT.
 * @param query may be empty; `bytes` is then the whole statement
 * @param bytes data of the INSERT; none when the query names a file
 */
export async function insertRows(
  addon: ChdbAddon,
  connection: Connection,
  query: string,
  bytes: Buffer,
): Promise<Summary> {
  const [prefix, data] = query !== '' && bytes.length === 0 ? ['', Buffer.from(query)] : [query, bytes]
  const result = await addon.InsertRawAsyncConnection(connection, prefix, data, false)
  const [rows, rowBytes] = [result.rowsWritten, result.bytesWritten]
  return {
    ...NOTHING_DONE,
    read: { rows, bytes: rowBytes },
    writtenRows: rows,
    writtenBytes: rowBytes,
    resultRows: rows,
    resultBytes: rowBytes,
    elapsedNs: Math.round(result.elapsed * 1e9),
  }
}
