import { existsSync } from 'node:fs'
import type { DataDir } from '../embedded/processes/data-dir.ts'
import { StartupError } from '../run/errors.ts'
import { type SocketLock, takeLock } from '../run/socket-lock.mjs'
import { readInstance } from './instance.ts'

/** What an instance that was killed may still hold is given back within this time. */
const KILLED_INSTANCE_MS = 10_000

/** A DATA_DIR that is ours. */
export interface HeldDataDir {
  readonly lock: SocketLock
  /** Time in which an instance that was killed gives back what it holds; 0 when none was. */
  readonly patienceMs: number
}

/** @throws StartupError when another ipid has it */
export async function holdDataDir(dir: DataDir): Promise<HeldDataDir> {
  // An instance that stops in order takes its lock away.
  const patienceMs = existsSync(dir.lock) ? KILLED_INSTANCE_MS : 0
  const lock = await takeLock(dir.lock)
  if (lock !== undefined) return { lock, patienceMs }
  const other = readInstance(dir)
  const who = other === undefined ? 'another ipid' : `another ipid (process ${other.pid})`
  throw new StartupError(`${who} runs on ${dir.path}: stop it first, or choose another DATA_DIR`)
}
