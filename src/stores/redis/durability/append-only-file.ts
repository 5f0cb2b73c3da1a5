import { close, fdatasync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { APPEND_ONLY_MANIFEST, appendedFiles, baseFiles } from './append-only-link.ts'
import { closeInPieces } from './free-file.ts'

/** Files that a rewrite removes while they are opened: the next manifest does without them. */
const LOOKS_MAX = 5

const syncFile = promisify(fdatasync)
const closeFile = promisify(close)

/**
 * The append-only file of a Redis on this machine, as Redis 7 and Valkey keep it: a manifest, a base, and files that are appended
 * to. The manifest names a file before the first write to it, and bases are on disk before they are named.
 */
export class AppendOnlyFile {
  readonly #dir: string
  readonly #syncFile: (file: number) => Promise<void>
  /** Of the manifest that was read last. */
  #version = ''
  readonly #files = new Map<string, number>()
  /** Held for their ends alone, see `closeInPieces`. */
  readonly #bases = new Map<string, number>()
  /** Those that the disk did not take once: the system forgets what it could not write, and the next sync would pass. */
  readonly #broken = new Set<string>()
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #closed = false

  /** @param dir folder of the manifest @param sync of an open file; default: fdatasync */
  constructor(dir: string, sync: (file: number) => Promise<void> = syncFile) {
    this.#dir = dir
    this.#syncFile = sync
  }

  /**
   * Resolves when the disk has what was in the file before the call. Calls that come while the disk is busy are one.
   * Rejects with the error of the disk, or of the folder, and from then on until Redis has begun another file.
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

  /** Only a rewrite makes it good: what it holds may not be on disk, ever. */
  get isBroken(): boolean {
    return this.#broken.size > 0
  }

  /** Resolves when all files are closed; what is asked for behind it rejects. */
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
    if (this.isBroken) throw new Error('the disk has not taken all of the append-only file')
    // None is under way behind the end of this: it may be closed then.
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

  /** Opens and closes files when Redis has begun another one. Costs 3 µs while it has not. */
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
    if (names.length === 0) throw new Error(`${APPEND_ONLY_MANIFEST} names no file that Redis appends to`)
    this.#hold(this.#files, names)
    for (const name of this.#broken) if (!names.includes(name)) this.#broken.delete(name)
    try {
      this.#hold(this.#bases, baseFiles(manifest))
    } catch {
      // Nothing is read from it, and Redis frees it as well.
    }
  }

  /** Opens what is new, and closes what is named no more. */
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
