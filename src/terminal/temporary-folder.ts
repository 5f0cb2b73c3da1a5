import { existsSync, lstatSync, rmSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isHeld, takeLock } from '../run/socket-lock.mjs'

const LOCK = 'lock.sock'
/** A longer path is too long for a lock. The folder then has none, and stays after kill -9. */
const LOCK_PATH_MAX_BYTES = 90

/**
 * Runs `use` with a new, private folder below `TMPDIR`, and removes it. A process that was killed leaves its folder; the next call with
 * the same prefix removes it.
 */
export async function withTemporaryFolder<T>(prefix: string, use: (dir: string) => Promise<T>): Promise<T> {
  await removeLeftovers(prefix)
  const home = await mkdtemp(join(tmpdir(), prefix))
  const remove = () => rmSync(home, { recursive: true, force: true })
  // Ctrl-C ends this process; the folder would stay.
  process.on('exit', remove)
  const path = join(home, LOCK)
  const lock = Buffer.byteLength(path) > LOCK_PATH_MAX_BYTES ? undefined : await takeLock(path)
  try {
    const dir = contentOf(home)
    await mkdir(dir)
    return await use(dir)
  } finally {
    process.off('exit', remove)
    remove()
    await lock?.release()
  }
}

/** Removes the folders of killed processes, whose locks have no holder. A folder without a lock may be new. */
async function removeLeftovers(prefix: string): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue
    const home = join(tmpdir(), name)
    if (!isOurs(home) || !existsSync(join(home, LOCK)) || (await isHeld(join(home, LOCK)))) continue
    // The lock goes last. If a store of the killed process still writes here, the next call removes the rest.
    await rm(contentOf(home), { recursive: true, force: true })
      .then(() => rm(home, { recursive: true, force: true }))
      .catch(() => {})
  }
}

function contentOf(home: string): string {
  return join(home, 'content')
}

function isOurs(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isDirectory() === true && (process.getuid === undefined || stats.uid === process.getuid())
}
