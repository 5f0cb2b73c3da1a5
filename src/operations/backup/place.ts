import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { BackupManifest } from '../../../schemas/backup.ts'
import type { ArchiveLocation } from '../../pipeline/declaration/destination.ts'
import { openObjectStore } from '../../pipeline/sinks/archive/destination.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import { filesOf, MANIFEST, readManifest } from './manifest.ts'
import { BackupRefusedError } from './ports.ts'

/** When it was due, and its attempt: `2026-11-27T03-00Z-1a2b3c4d`. Sorted by name, the oldest is first. */
const SET_NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\dZ-[0-9a-f]{8}$/
/** With which all these names begin until the year 3000. */
const MILLENNIUM = '2'
/** A file that a backup writes. */
const FILE_NAME = /^(?:manifest\.json|[a-z0-9_-]+(?:\.tsv|\.ndjson)\.gz)$/

/** A backup in a place. */
export interface BackupSet {
  readonly name: string
  /** Its manifest is written last, so only then all its files are there. */
  readonly isWhole: boolean
  /** Its objects, without the place's prefix. */
  readonly keys: readonly string[]
  readonly bytes: number
}

/** The name of a backup. @param attempt 8 hexadecimal digits: two attempts never write the same object */
export function setName(dueMs: number, attempt: string): string {
  const minute = new Date(dueMs).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length).replace(':', '-')
  return `${minute}Z-${attempt}`
}

/** Whether a folder holds a backup that is being written, by its name: `writeBackup` adds an ending until it is complete. */
export function isSpooled(folder: string): boolean {
  return SET_NAME.test(folder.split('.', 1)[0]!)
}

/** When a backup was due, milliseconds. */
export function dueOf(name: string): number {
  return Date.parse(`${name.slice(0, 13)}:${name.slice(14, 16)}Z`)
}

/** A clock may be ahead of another one by less. */
export const AHEAD_MS = 3_600_000

/** Whether a backup was written while the clock was ahead. */
export function isOfFuture({ name }: Pick<BackupSet, 'name'>, nowMs: number): boolean {
  return dueOf(name) > nowMs + AHEAD_MS
}

/** A folder or bucket with backups, each in a folder of its own. */
export class BackupPlace {
  readonly #store: ObjectStore
  /** Undefined: a bucket, which has no empty folders. */
  readonly #folder: string | undefined

  constructor(location: ArchiveLocation, store: ObjectStore = openObjectStore(location)) {
    this.#store = store
    this.#folder = 'folder' in location ? location.folder : undefined
  }

  /** For people; without secrets. */
  get location(): string {
    return this.#store.location
  }

  /** Every backup, the oldest first. Ignores objects of others, also those beside the files of a backup. */
  async sets(): Promise<BackupSet[]> {
    const found = new Map<string, { keys: string[]; bytes: number }>()
    // Folders of others may be large, or not for us to read.
    for await (const { key, bytes } of this.#store.list(MILLENNIUM)) {
      const [name = '', file = '', ...deeper] = key.split('/')
      if (!SET_NAME.test(name) || !FILE_NAME.test(file) || deeper.length > 0) continue
      const set = found.get(name) ?? { keys: [], bytes: 0 }
      set.keys.push(key)
      found.set(name, { keys: set.keys, bytes: set.bytes + bytes })
    }
    const names = [...found.keys()].sort()
    return names.map((name) => {
      const { keys, bytes } = found.get(name)!
      return { name, isWhole: keys.includes(`${name}/${MANIFEST}`), keys, bytes }
    })
  }

  /** The newest whole one; undefined: there is none. One of the future only if there is no other. */
  async newest(nowMs: number): Promise<string | undefined> {
    const whole = (await this.sets()).filter(({ isWhole }) => isWhole)
    return (whole.filter((set) => !isOfFuture(set, nowMs)).at(-1) ?? whole.at(-1))?.name
  }

  /**
   * Copies a complete backup from a folder. The manifest goes last, so a copy that ends early is not taken for a backup.
   * @param mayGoOn called before each object; throws to end the copy
   * @returns bytes of all objects
   */
  async put(name: string, dir: string, manifest: BackupManifest, mayGoOn: () => void): Promise<number> {
    await this.#store.prepare()
    let total = 0
    for (const file of [...filesOf(manifest).map((one) => one.name), MANIFEST]) {
      mayGoOn()
      const path = join(dir, file)
      const { size: bytes } = await stat(path)
      const contentType = file === MANIFEST ? 'application/json' : 'application/gzip'
      const md5 = await md5Of(path)
      mayGoOn()
      await this.#store.putFile(`${name}/${file}`, path, { bytes, md5, contentType })
      total += bytes
    }
    return total
  }

  /** Removes a backup. The manifest goes first, so what is left after a crash is not taken for a backup. */
  async remove({ name, keys }: Pick<BackupSet, 'name' | 'keys'>): Promise<void> {
    const manifest = `${name}/${MANIFEST}`
    for (const key of [manifest, ...keys.filter((one) => one !== manifest)]) await this.#store.delete(key)
    // Another process may have put an object there; an empty folder does no harm.
    if (this.#folder !== undefined) await rmdir(join(this.#folder, name)).catch(() => {})
  }

  /** Removes the objects of an attempt of this process that failed, and its folder. */
  async removeAttempt(name: string): Promise<void> {
    const found = (await this.sets()).find((set) => set.name === name)
    await this.remove(found ?? { name, keys: [] })
  }

  /**
   * Copies a backup into a new folder.
   * @param name undefined: the objects lie at the place itself
   * @throws BackupRefusedError when a file is missing
   */
  async fetch(name: string | undefined, dir: string): Promise<void> {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await this.#fetchFile(name, MANIFEST, dir)
    for (const file of filesOf(await readManifest(dir))) await this.#fetchFile(name, file.name, dir)
  }

  async #fetchFile(name: string | undefined, file: string, dir: string): Promise<void> {
    const content = await this.#store.get(name === undefined ? file : `${name}/${file}`)
    if (content === undefined) {
      const where = name === undefined ? this.location : `${name} in ${this.location}`
      throw new BackupRefusedError(
        file === MANIFEST
          ? `${where} is not a backup, or the backup did not finish: it has no ${MANIFEST}`
          : `the backup is damaged: the file ${file} is missing`,
      )
    }
    await pipeline(content, createWriteStream(join(dir, file), { flags: 'wx', mode: 0o600 }))
  }

  abort(): void {
    this.#store.abort()
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}

async function md5Of(path: string): Promise<string> {
  const hash = createHash('md5')
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) hash.update(piece)
  return hash.digest('base64')
}
