import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { UnavailableError } from '../../run/errors.ts'
import { assertKey, isNamePart, type ObjectEntry, type ObjectStore } from './object-store.ts'

/** Folder of unfinished objects; no key can name it. */
const PARTIAL = '.partial'
/** Older unfinished objects were left by a killed process. */
const PARTIAL_AGE_MS = 3_600_000

/** Objects as files in a folder. A file is written under a temporary name, synced, renamed, and then the folder is synced. */
export class FolderStore implements ObjectStore {
  readonly location: string
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    this.location = folder
  }

  prepare(): Promise<void> {
    return this.removeLeftovers(Date.now() - PARTIAL_AGE_MS)
  }

  removeLeftovers(beforeMs: number): Promise<void> {
    return done(async () => {
      const partial = join(this.#folder, PARTIAL)
      for (const name of await filesOf(partial)) {
        const found = await stat(join(partial, name)).catch(absent)
        if (found !== undefined && found.mtimeMs < beforeMs) await rm(join(partial, name), { force: true })
      }
    })
  }

  put(key: string, bytes: Buffer): Promise<void> {
    return this.#put(key, (partial) => writeSynced(partial, bytes))
  }

  putFile(key: string, path: string): Promise<void> {
    return this.#put(key, async (partial) => {
      await copyFile(path, partial)
      const file = await open(partial, 'r+')
      try {
        await file.chmod(0o600)
        await file.sync()
      } finally {
        await file.close()
      }
    })
  }

  /** @param write writes a file, which must not exist, and syncs it */
  #put(key: string, write: (partial: string) => Promise<void>): Promise<void> {
    const path = this.#path(key)
    return done(async () => {
      const partial = join(this.#folder, PARTIAL, randomUUID())
      await makeFolder(dirname(partial))
      await makeFolder(dirname(path))
      try {
        await write(partial)
        await rename(partial, path)
      } catch (error) {
        await rm(partial, { force: true })
        throw error
      }
      await syncFolder(dirname(path))
    })
  }

  get(key: string): Promise<Readable | undefined> {
    const path = this.#path(key)
    return done(async () => {
      const file = await open(path).catch(absent)
      return file && createReadStream('', { fd: file })
    })
  }

  head(key: string): Promise<number | undefined> {
    const path = this.#path(key)
    return done(async () => (await stat(path).catch(absent))?.size)
  }

  list(prefix: string): AsyncIterable<ObjectEntry> {
    return this.#walk('', prefix)
  }

  delete(key: string): Promise<void> {
    const path = this.#path(key)
    return done(async () => {
      await rm(path, { force: true })
      const folder = dirname(path)
      await syncFolder(folder).catch(absent)
    })
  }

  abort(): void {}

  async close(): Promise<void> {}

  #path(key: string): string {
    assertKey(key)
    return join(this.#folder, key)
  }

  /** @param folder key of the folder, ended by a slash; `''`: the root of the store */
  async *#walk(folder: string, prefix: string): AsyncGenerator<ObjectEntry> {
    const entries = await done(() =>
      readdir(join(this.#folder, folder), { withFileTypes: true }).catch((error) => absent(error) ?? []),
    )
    const named = entries.map((entry) => ({ entry, key: folder + entry.name + (entry.isDirectory() ? '/' : '') }))
    for (const { entry, key } of named.sort((a, b) => (a.key < b.key ? -1 : 1))) {
      // Not an object: unfinished ones, and foreign folders such as a disk's `lost+found`.
      if (!isNamePart(entry.name)) continue
      if (!(key.startsWith(prefix) || (entry.isDirectory() && prefix.startsWith(key)))) continue
      if (entry.isDirectory()) yield* this.#walk(key, prefix)
      else {
        const bytes = await this.head(key)
        if (bytes !== undefined) yield { key, bytes }
      }
    }
  }
}

/** Any error of a file system may pass: no space, no rights, a folder that is not mounted. */
async function done<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new UnavailableError(`the folder of objects: ${(error as Error).message}`, { cause: error })
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(absent)) ?? []
}

async function writeSynced(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes a folder and its parents, readable by this user only, and syncs them, so that they survive a power failure. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made))
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
