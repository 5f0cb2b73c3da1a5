import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rmdir, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { BackupManifest } from '../../../schemas/backup.ts'
import type { ArchiveLocation } from '../../pipeline/declaration/destination.ts'
import { openObjectStore } from '../../pipeline/sinks/archive/destination.ts'
import { UnavailableError } from '../../run/errors.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import { filesOf, MANIFEST, readManifest } from './manifest.ts'
import { BackupRefusedError } from './ports.ts'

/** When it was due, and its attempt: `2026-11-27T03-00Z-1a2b3c4d`. Sorted by name, the oldest is first. */
const SET_NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\dZ-[0-9a-f]{8}$/
/** All these names begin with it until the year 3000. */
const MILLENNIUM = '2'
/** A file that a backup writes. */
const FILE_NAME = /^(?:manifest\.json|[a-z0-9_-]+(?:\.tsv|\.ndjson)\.gz)$/

/** Says which instance writes into the place. */
const OWNER = 'owner.json'

/** The instance that writes its backups into a place. */
export interface PlaceOwner {
  /** `backupInstance` of its Redis. */
  readonly instance: string
  readonly host: string
  /** ISO 8601, UTC. */
  readonly since: string
}

/** A backup in a place. */
export interface BackupSet {
  readonly name: string
  /** Its manifest is written last, so it proves that all files are present. */
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
    // Foreign folders may be large or unreadable.
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

  /** Undefined: no instance has taken the place, or only an ipid before owners existed. @throws UnavailableError */
  async owner(): Promise<PlaceOwner | undefined> {
    const content = await this.#store.get(OWNER)
    if (content === undefined) return undefined
    try {
      const owner = JSON.parse(await text(content)) as PlaceOwner
      if (typeof owner.instance === 'string') return owner
      throw new Error('it names no instance')
    } catch (error) {
      throw new UnavailableError(`${OWNER} in ${this.location} cannot be read: ${(error as Error).message}`)
    }
  }

  /** Makes an instance of this machine the owner, also in place of another one. */
  async take(instance: string, nowMs: number): Promise<void> {
    await this.#assertFolder()
    const owner: PlaceOwner = { instance, host: hostname(), since: new Date(nowMs).toISOString() }
    await this.#store.put(OWNER, Buffer.from(`${JSON.stringify(owner)}\n`))
  }

  /**
   * Makes an instance the owner, unless there is another one.
   * @param last a backup that the place must have if it has no owner; undefined: it may be empty
   * @throws UnavailableError when the place is another instance's, or not the one that has the earlier backups
   */
  async own(instance: string, last: string | undefined, nowMs: number): Promise<void> {
    await this.#assertFolder()
    if ((await this.owner()) === undefined) {
      // An unmounted disk has neither: backups would fill the disk below it unnoticed.
      if (last !== undefined && !(await this.sets()).some(({ name }) => name === last)) {
        throw new UnavailableError(
          `${this.location} has neither ${OWNER} nor the last backup, ${last}: is its disk mounted? If the place was emptied on purpose, run "./ipid backup --take-over"`,
        )
      }
      await this.take(instance, nowMs)
    }
    await this.assertOwnedBy(instance)
  }

  /** @throws UnavailableError when the place is another instance's, or has no owner */
  async assertOwnedBy(instance: string): Promise<void> {
    const owner = await this.owner()
    if (owner?.instance === instance) return
    const found =
      owner === undefined
        ? `${this.location} has lost its ${OWNER}`
        : `${this.location} has the backups of another ipid: ${owner.instance} on ${owner.host}, since ${owner.since}`
    throw new UnavailableError(
      `${found}. Give each ipid a BACKUP_URL of its own; if this one takes its place, run "./ipid backup --take-over"`,
    )
  }

  /** Never makes the folder: where a disk is not mounted, it would be on another one. */
  async #assertFolder(): Promise<void> {
    if (this.#folder === undefined) return
    const found = await stat(this.#folder).catch(() => undefined)
    if (found?.isDirectory()) return
    throw new UnavailableError(
      `${this.#folder} is no folder: mount the disk of backups, or make the folder with mkdir (BACKUP_URL)`,
    )
  }

  /** The newest whole one; undefined: there is none. One of the future only if there is no other. */
  async newest(nowMs: number): Promise<string | undefined> {
    const whole = (await this.sets()).filter(({ isWhole }) => isWhole)
    return (whole.filter((set) => !isOfFuture(set, nowMs)).at(-1) ?? whole.at(-1))?.name
  }

  /**
   * Copies a complete backup from a folder. The manifest goes last, so an incomplete copy never counts as a backup.
   * @param mayGoOn called before each object; throws to end the copy
   * @param instance must own the place until the end
   * @returns bytes of all objects
   */
  async put(
    name: string,
    dir: string,
    manifest: BackupManifest,
    instance: string,
    mayGoOn: () => void,
  ): Promise<number> {
    await this.#store.prepare()
    let total = 0
    for (const file of [...filesOf(manifest).map((one) => one.name), MANIFEST]) {
      mayGoOn()
      const path = join(dir, file)
      const { size: bytes } = await stat(path)
      const contentType = file === MANIFEST ? 'application/json' : 'application/gzip'
      const md5 = await md5Of(path)
      if (file === MANIFEST) await this.assertOwnedBy(instance)
      mayGoOn()
      await this.#store.putFile(`${name}/${file}`, path, { bytes, md5, contentType })
      total += bytes
    }
    return total
  }

  /** Removes a backup. The manifest goes first, so a crash leaves nothing that counts as a backup. */
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
