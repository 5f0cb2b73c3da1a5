import { createRequire } from 'node:module'
import { StartupError } from '../../run/errors.ts'

/** Absolute paths of the files that the process of the embedded ClickHouse loads. */
export interface Library {
  /** The shared library with ClickHouse: npm `chdb`. */
  readonly library: string
  /** The package that calls it: npm `ffi-rs`. */
  readonly ffi: string
}

const REMEDY =
  'The embedded ClickHouse runs on Linux (glibc) and macOS, x64 and arm64; elsewhere set CLICKHOUSE_URL to a ClickHouse server'

/**
 * Finds the library for this platform without loading it.
 * @throws StartupError when a package is not installed, or has no library for this platform
 */
export function findLibrary(): Library {
  const require = createRequire(import.meta.url)
  try {
    const { resolveLibchdb } = require('chdb/libchdb') as {
      resolveLibchdb(options: { env: Record<string, string> }): { path: string }
    }
    // Our environment must not choose another library.
    return { library: resolveLibchdb({ env: {} }).path, ffi: require.resolve('ffi-rs') }
  } catch (error) {
    throw unloadable((error as Error).message.split('\n')[0]!, error)
  }
}

/** The error for a library that is missing or does not load. */
export function unloadable(problem: string, cause?: unknown): StartupError {
  const reason = `cannot load the embedded ClickHouse (npm packages chdb and ffi-rs): ${problem}`
  return new StartupError(`${reason}. ${REMEDY}`, { reason, remedy: REMEDY, cause })
}
