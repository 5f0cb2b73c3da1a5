import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartupError } from '../../run/errors.ts'

/** A native connection: settings, database and parameters of its own over the one engine of the process. */
export type Connection = object

export interface QueryResult {
  readonly bytes: Uint8Array
  /** Seconds. */
  readonly elapsed: number
  /** Rows and bytes of the result, whatever the names say. */
  readonly rowsRead: number
  readonly bytesRead: number
}

export interface InsertResult {
  readonly elapsed: number
  readonly rowsWritten: number
  readonly bytesWritten: number
}

/**
 * The native part of npm `chdb`, 3.4. Its JavaScript part is left out: it closes a connection only when no statement of
 * any other is running, restricts raw inserts to a few formats, and runs statements with parameters one after another.
 * Every promise settles when the statement has ended; there is no way to give one up.
 */
export interface ChdbAddon {
  CreateConnection(path: string, args?: string[]): Connection
  /** No statement of the connection may be running. Closing the last one closes the engine. */
  CloseConnection(connection: Connection): void
  /** @param format of the result when the text has no FORMAT clause */
  QueryAsyncConnection(connection: Connection, sql: string, format: string): Promise<QueryResult>
  /** Runs the prefix, a line feed and the bytes as one statement. */
  InsertRawAsyncConnection(
    connection: Connection,
    prefix: string,
    data: Buffer,
    countLines: boolean,
  ): Promise<InsertResult>
}

const REMEDY =
  'The embedded ClickHouse runs on Linux (glibc) and macOS, x64 and arm64; elsewhere set CLICKHOUSE_URL to a ClickHouse server'

/**
 * Loads the engine's library: 0.1 s.
 * @throws StartupError when `chdb` is not installed, or has no binary for this platform
 */
export function loadAddon(): ChdbAddon {
  const require = createRequire(import.meta.url)
  try {
    const root = dirname(require.resolve('chdb/package.json'))
    const loader = require(join(root, 'dist', 'loader.js')) as { loadNative(): ChdbAddon }
    return loader.loadNative()
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0]
    throw new StartupError(`cannot load the embedded ClickHouse (npm package chdb): ${reason}. ${REMEDY}`, {
      cause: error,
    })
  }
}

/** The folder of the engine's library. Rejects when there is none for this platform. */
export async function libraryFolder(): Promise<string> {
  const require = createRequire(createRequire(import.meta.url).resolve('chdb/package.json'))
  const name = `@chdb/lib-${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`
  return dirname(require.resolve(`${name}/package.json`))
}

/** Runs a query, and resolves to its result as text: TabSeparated, unless the query has another FORMAT. */
export type Ask = (sql: string) => Promise<string>

export function asking(addon: ChdbAddon, connection: Connection): Ask {
  return async (sql) => {
    const { bytes } = await addon.QueryAsyncConnection(connection, sql, 'TSV')
    return Buffer.from(bytes).toString('utf8')
  }
}
