import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartupError } from '../../core/run/errors.ts'

/** A native connection: settings, database and parameters of its own over the one engine of the process. */
export type Connection = object
export type StreamHandle = object

export interface QueryResult {
  readonly bytes: Uint8Array
  /** Seconds. */
  readonly elapsed: number
  readonly rowsRead: number
  readonly bytesRead: number
}

export interface InsertResult {
  readonly elapsed: number
  readonly rowsWritten: number
  readonly bytesWritten: number
}

export interface StreamChunk {
  readonly bytes: Uint8Array
  readonly numRows: number
  readonly done: boolean
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
  /** Analyses the statement before it returns. Each chunk is a document of its own. */
  StreamQuery(connection: Connection, sql: string, format: string): StreamHandle
  StreamFetch(handle: StreamHandle): Promise<StreamChunk>
  StreamCancel(handle: StreamHandle): void
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
