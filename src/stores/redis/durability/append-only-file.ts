import { close, fdatasync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { closeInPieces } from './free-file.ts'

/** A rewrite may remove a file before it is opened. The manifest is then read again, this many times at most. */
const LOOKS_MAX = 5

const syncFile = promisify(fdatasync)
const closeFile = promisify(close)

/**
 * The append-only file of a Redis 7 or Valkey on this machine: a manifest, a base, and files that Redis appends to. Redis names a file
 * in the manifest before it writes to it, and a base after it is on disk.
 */
export class AppendOnlyFile {
  readonly #dir: string
  readonly #syncFile: (file: number) => Promise<void>
  /** Version of the manifest that was last read. */
  #version = ''
  readonly #files = new Map<string, number>()
  /** Kept open only to free them slowly, see `closeInPieces`. */
  readonly #bases = new Map<string, number>()
  /** Files whose sync failed. The kernel drops the data that it could not write, so the next sync would succeed wrongly. */
  readonly #broken = new Set<string>()
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #closed = false

  /** @param dir folder of the manifest @param sync syncs an open file; default: fdatasync */
  constructor(dir: string, sync: (file: number) => Promise<void> = syncFile) {
    this.#dir = dir
    this.#syncFile = sync
  }

  /**
   * Resolves when everything that was in the file before the call is on disk. Calls during a sync share the next one. Rejects if disk or
   * folder fail. After a failed sync it keeps rejecting until Redis has rewritten its file.
   */
  synced(): Promise<void> {
    if (this.#next !== undefined) return this.#next
    if (this.#running === undefined) return this.#begin()
    const begin = () => {
      this.#next = undefined
      return this.#begin()
    }
    this.#next = this.#running.then(begin, begin)
    return this.#next
  }

  /** Whether a sync has failed. Only a rewrite repairs that, because some of the data may never reach the disk. */
  get isBroken(): boolean {
    return this.#broken.size > 0
  }

  /** Resolves when all files are closed. Later calls of `synced` reject. */
  async close(): Promise<void> {
    this.#closed = true
    while (this.#running !== undefined) await this.#running.catch(() => {})
    const files = [...this.#files.values(), ...this.#bases.values()]
    this.#files.clear()
    this.#bases.clear()
    await Promise.allSettled(files.map((file) => closeFile(file)))
  }

  #begin(): Promise<void> {
    const running = this.#sync().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }

  async #sync(): Promise<void> {
    if (this.#closed) throw new Error('the append-only file was closed')
    this.#look()
    if (this.isBroken) throw new Error('a sync of the append-only file has failed')
    // Waits for all, because files may be closed afterwards.
    const results = await Promise.allSettled(Array.from(this.#files, ([name, file]) => this.#syncOne(name, file)))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async #syncOne(name: string, file: number): Promise<void> {
    try {
      await this.#syncFile(file)
    } catch (error) {
      this.#broken.add(name)
      throw error
    }
  }

  /** Follows Redis to new files. Takes 3 µs if there are none. */
  #look(): void {
    for (let looks = 1; ; looks++) {
      const path = join(this.#dir, APPEND_ONLY_MANIFEST)
      const { ino, mtimeMs } = statSync(path)
      const version = `${ino} ${mtimeMs}`
      if (version === this.#version) return
      try {
        this.#follow(readFileSync(path, 'utf8'))
        this.#version = version
        return
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || looks === LOOKS_MAX) throw error
      }
    }
  }

  #follow(manifest: string): void {
    const names = appendedFiles(manifest)
    if (names.length === 0) throw new Error(`${APPEND_ONLY_MANIFEST} does not name a file that Redis appends to`)
    this.#hold(this.#files, names)
    for (const name of this.#broken) if (!names.includes(name)) this.#broken.delete(name)
    try {
      this.#hold(this.#bases, baseFiles(manifest))
    } catch {
      // Without it, the base is freed at once, by Redis.
    }
  }

  /** Opens new files, and closes those that the manifest no longer names. */
  #hold(held: Map<string, number>, names: readonly string[]): void {
    for (const name of names) {
      if (!held.has(name)) held.set(name, openSync(join(this.#dir, name), 'r'))
    }
    for (const [name, file] of held) {
      if (names.includes(name)) continue
      held.delete(name)
      void closeInPieces(file)
    }
  }
}

/**
 * Path of a link beside the Redis socket, to the folder of the append-only file. It exists if clients must sync the file themselves,
 * and not if Redis does so or nothing does.
 */
export function appendOnlyLink(socket: string): string {
  return `${socket}.aof`
}

/** Lists the current files of that folder. Redis replaces it at the start and at the end of each rewrite. */
export const APPEND_ONLY_MANIFEST = 'appendonly.aof.manifest'

/** The files of a manifest that Redis appends to; the last is the current one. */
export function appendedFiles(manifest: string): string[] {
  return filesOf(manifest, 'i')
}

/** The base files of a manifest: the results of rewrites. */
export function baseFiles(manifest: string): string[] {
  return filesOf(manifest, 'b')
}

/** @param type Redis' code: `b` for a base, `i` for an appended file. Files of the type `h` are about to be removed. */
function filesOf(manifest: string, type: 'b' | 'i'): string[] {
  return Array.from(manifest.matchAll(/^file (\S+) seq \d+ type ([a-z])/gm))
    .filter(([, , found]) => found === type)
    .map(([, name]) => name!)
}
