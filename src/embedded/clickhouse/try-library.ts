import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findLibrary, unloadable } from './library.ts'

const LOAD_MS = 10_000

/** The script of the engine's process. */
export const PROCESS_SCRIPT = fileURLToPath(new URL('process.mjs', import.meta.url))

/**
 * Loads the engine's library in a process of its own, which a library for another processor would end.
 * @throws StartupError with the reason when it does not load
 */
export async function assertLoadable(): Promise<void> {
  const found = findLibrary()
  try {
    await promisify(execFile)(process.execPath, [PROCESS_SCRIPT, JSON.stringify(found)], { env: {}, timeout: LOAD_MS })
  } catch (error) {
    const { message, stderr = '', signal } = error as Error & { stderr?: string; signal?: string | null }
    throw unloadable(problemIn(stderr) ?? (signal ? `it ended with ${signal}` : message.split('\n')[0]!), error)
  }
}

/** The message of the error with which Node.js ended. */
export function problemIn(stderr: string): string | undefined {
  return /^(?:\w*Error)(?: \[\w+\])?: (.+)$/m.exec(stderr)?.[1]
}
