import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { StartupError } from '../../run/errors.ts'

/** A native connection to the engine, with its own settings, database and parameters. */
export type Connection = object

export interface QueryResult {
  readonly bytes: Uint8Array
  /** Seconds. */
  readonly elapsed: number
  /** Rows and bytes of the result, despite the names. */
  readonly rowsRead: number
  readonly bytesRead: number
}

interface InsertResult {
  readonly elapsed: number
  readonly rowsWritten: number
  readonly bytesWritten: number
}

/**
 * The native part of npm `chdb` 3.4. ipid bypasses its JavaScript part, which closes a connection only when all others are
 * idle, restricts raw inserts to a few formats, and serialises statements with parameters. Each promise settles when its
 * statement has ended, and cannot be cancelled.
 */
export interface ChdbAddon {
  CreateConnection(path: string, args?: string[]): Connection
  /** The connection must be idle. Closing the last one closes the engine. */
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
  try {
    const { loadNative } = createRequire(import.meta.url)(loaderPath()) as { loadNative(): ChdbAddon }
    return loadNative()
  } catch (error) {
    throw unloadable((error as Error).message.split('\n')[0]!, error)
  }
}

function loaderPath(): string {
  const { resolve } = createRequire(import.meta.url)
  return join(dirname(resolve('chdb/package.json')), 'dist', 'loader.js')
}

function unloadable(problem: string, cause?: unknown): StartupError {
  const reason = `cannot load the embedded ClickHouse (npm package chdb): ${problem}`
  return new StartupError(`${reason}. ${REMEDY}`, { reason, remedy: REMEDY, cause })
}

const LOAD_MS = 10_000

/**
 * Loads the engine's library in a process of its own, which a library for another processor would end.
 * @throws StartupError as `loadAddon`
 */
export async function assertLoadable(): Promise<void> {
  try {
    const script = `require(${JSON.stringify(loaderPath())}).loadNative(); process.reallyExit(0)`
    await promisify(execFile)(process.execPath, ['-e', script], { env: {}, timeout: LOAD_MS })
  } catch (error) {
    const { message, stderr = '', signal } = error as Error & { stderr?: string; signal?: string | null }
    const line = /^(?:\w*Error): (.+)$/m.exec(stderr)?.[1]
    throw unloadable(line ?? (signal ? `it ended with ${signal}` : message.split('\n')[0]!), error)
  }
}

/** The folder of the engine's library. Rejects when this platform has none. */
export async function libraryFolder(): Promise<string> {
  const require = createRequire(createRequire(import.meta.url).resolve('chdb/package.json'))
  const name = `@chdb/lib-${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`
  return dirname(require.resolve(`${name}/package.json`))
}

/** Runs a query and returns its result as text, in TabSeparated unless the query has another FORMAT. */
export type Ask = (sql: string) => Promise<string>

export function asking(addon: ChdbAddon, connection: Connection): Ask {
  return async (sql) => {
    const { bytes } = await addon.QueryAsyncConnection(connection, sql, 'TSV')
    return Buffer.from(bytes).toString('utf8')
  }
}
