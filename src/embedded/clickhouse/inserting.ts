import type { ChdbAddon, Connection } from './addon.ts'
import { type DataFiles, infilePath } from './data-files.ts'
import { Exception, exceptionOf } from './exception.ts'
import { fromInfile, type InsertParts } from './insert-parts.ts'
import { insertFromFile } from './plain-insert.ts'
import { NOTHING_DONE, type Summary } from './reading.ts'

/**
 * Runs an INSERT.
 * @throws Exception, or an error of the engine
 */
export async function insertRows(
  addon: ChdbAddon,
  connection: Connection,
  { query, data }: Pick<InsertParts, 'query' | 'data'>,
  files: DataFiles,
): Promise<Summary> {
  if (data === undefined) return await run(addon, connection, query)
  const from = async (path: string) => {
    const infile = infilePath(path)
    const sql = insertFromFile(query, infile) ?? fromInfile(query, infile)
    return await run(addon, connection, sql).catch((error: unknown) => {
      const { code, message } = exceptionOf(error)
      throw new Exception(code, message.replaceAll(` (in file/uri ${infile})`, ''), { cause: error })
    })
  }
  return data.file === undefined ? await files.within(data.bytes, from) : await from(data.file)
}

async function run(addon: ChdbAddon, connection: Connection, sql: string): Promise<Summary> {
  const result = await addon.InsertRawAsyncConnection(connection, '', Buffer.from(sql), false)
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
