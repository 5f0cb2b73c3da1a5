import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findLibrary, unloadable } from './library.ts'
import { walledCommand } from './wall.ts'

const LOAD_MS = 10_000

/** The script of the engine's process. */
export const PROCESS_SCRIPT = fileURLToPath(new URL('process.mjs', import.meta.url))

/**
 * Loads the library in a process of its own, which a library for another processor would end.
 * @returns whether the kernel would deny the process other files and servers
 * @throws StartupError with the reason when it does not load
 */
export async function tryLibrary(): Promise<{ readonly walled: boolean }> {
  const found = findLibrary()
  const folder = await mkdtemp(join(tmpdir(), 'ipid-try-'))
  const [command, ...args] = [...walledCommand(folder), process.execPath, PROCESS_SCRIPT, JSON.stringify(found)]
  try {
    const { stdout } = await promisify(execFile)(command!, args, { env: {}, timeout: LOAD_MS, cwd: folder })
    return JSON.parse(stdout) as { walled: boolean }
  } catch (error) {
    const { message, stderr = '', signal } = error as Error & { stderr?: string; signal?: string | null }
    throw unloadable(problemIn(stderr) ?? (signal ? `it ended with ${signal}` : message.split('\n')[0]!), error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The message of the error with which Node.js ended. */
export function problemIn(stderr: string): string | undefined {
  return /^(?:\w*Error)(?: \[\w+\])?: (.+)$/m.exec(stderr)?.[1]
}
