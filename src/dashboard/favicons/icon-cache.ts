import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { causeText } from '../../run/cause-text.ts'
import type { Clock } from '../../run/clock.ts'

interface IconCacheOptions {
  readonly dir: string
  readonly clock: Clock
  readonly log: Logger
  /** Default: `FILES_MAX`. */
  readonly filesMax?: number
  /** Writes between two removals. Default: `TRIM_EVERY`. */
  readonly trimEvery?: number
}

/** At most 64 KB each, and mostly about 4. */
const FILES_MAX = 2_000
/** So far it may pass `FILES_MAX`. */
const TRIM_EVERY = 50
const PART = '.part'
/** A process writes a part in less than this. */
const PART_MS = 60_000

/**
 * Icons of domains, in a folder that the processes of a machine share. A file has the digest of its domain as its name, the icon as its
 * content, and the moment when it expires as its time of modification. An empty file says that the domain has no icon. Nothing here
 * is worth a backup or an fsync: a lost icon is fetched again.
 */
export class IconCache {
  readonly #options: Required<IconCacheOptions>
  #writes = 0
  #isFailing = false

  constructor(options: IconCacheOptions) {
    this.#options = { filesMax: FILES_MAX, trimEvery: TRIM_EVERY, ...options }
  }

  /** Empty: the domain has no icon. Undefined: unknown or expired. */
  async get(domain: string): Promise<Buffer | undefined> {
    const path = this.#path(domain)
    try {
      const { mtimeMs } = await stat(path)
      return mtimeMs > this.#options.clock.now() ? await readFile(path) : undefined
    } catch {
      return undefined
    }
  }

  /** Keeps an icon, or an empty buffer for none. Never rejects: without the cache, icons are fetched again. */
  async put(domain: string, icon: Buffer, validMs: number): Promise<void> {
    const { dir, clock, log, trimEvery } = this.#options
    const part = join(dir, `${randomUUID()}${PART}`)
    try {
      await mkdir(dir, { recursive: true, mode: 0o700 })
      await writeFile(part, icon, { mode: 0o600, flag: 'wx' })
      const expires = new Date(clock.now() + validMs)
      await utimes(part, expires, expires)
      await rename(part, this.#path(domain))
      if (this.#writes++ % trimEvery === 0) await this.#trim()
      this.#isFailing = false
    } catch (error) {
      await rm(part, { force: true }).catch(() => {})
      // Once, not for each company.
      if (!this.#isFailing)
        log.warn({ reason: causeText(error) }, 'icons of companies are not kept, so they are fetched again')
      this.#isFailing = true
    }
  }

  /** Removes expired files and leftovers of killed processes, then the files that expire first. */
  async #trim(): Promise<void> {
    const { dir, clock, filesMax } = this.#options
    const found: { readonly path: string; readonly expiresMs: number }[] = []
    for (const name of await readdir(dir)) {
      const path = join(dir, name)
      // Another process may have removed it.
      const file = await stat(path).catch(() => undefined)
      // A foreign folder, which cannot be removed as a file.
      if (file?.isFile()) found.push({ path, expiresMs: file.mtimeMs + (name.endsWith(PART) ? PART_MS : 0) })
    }
    const valid = found.filter(({ expiresMs }) => expiresMs > clock.now()).sort((a, b) => b.expiresMs - a.expiresMs)
    const kept = new Set(valid.slice(0, filesMax))
    for (const file of found) if (!kept.has(file)) await rm(file.path, { force: true })
  }

  #path(domain: string): string {
    return join(this.#options.dir, createHash('sha256').update(domain).digest('hex'))
  }
}
