import { existsSync } from 'node:fs'
import type { DataDir } from '../embedded/processes/data-dir.ts'
import { StartupError } from '../run/errors.ts'
import { type SocketLock, takeLock } from '../run/socket-lock.mjs'
import { readInstance } from './instance.ts'

/** A killed instance frees its port and files within this time. */
const KILLED_INSTANCE_MS = 10_000

/** A DATA_DIR whose lock this process holds. */
interface HeldDataDir {
  readonly lock: SocketLock
  /** How long to wait for a killed instance to free its port and files; 0 when none was killed. */
  readonly patienceMs: number
}

/** @throws StartupError when another ipid holds it */
export async function holdDataDir(dir: DataDir): Promise<HeldDataDir> {
  // An instance that stops in order removes its lock file.
  const patienceMs = existsSync(dir.lock) ? KILLED_INSTANCE_MS : 0
  const lock = await takeLock(dir.lock)
  if (lock !== undefined) return { lock, patienceMs }
  const other = readInstance(dir)
  const who = other === undefined ? 'another ipid' : `another ipid (process ${other.pid})`
  throw new StartupError(`${who} runs on ${dir.path}: stop it first, or choose another DATA_DIR`)
}
