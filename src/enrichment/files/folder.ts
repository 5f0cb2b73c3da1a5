import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { InputError } from '../../run/errors.ts'
import type { EnrichmentLimits } from '../limits.ts'
import { UnknownMmdbError } from '../providers/mmdb/provider.ts'
import { byTrust, type Provider } from '../providers/provider.ts'
import { RDNS } from '../providers/rdns/provider.ts'
import { isBigTable } from './compiled/layout.ts'
import { loadCompiled, NotCompiledError } from './compiled/load.ts'
import { loadDataFile, NotDataError, providerNameOf } from './data-file.ts'
import { type Version, versionOf } from './file-version.ts'
import { readSources, sourcesChangedAt } from './update/sources.ts'

/** The data that comes with the product. */
export const STARTER_DIR = fileURLToPath(new URL('./starter/', import.meta.url))

/**
 * `ok`: the file serves. `waiting`: it was not read yet, or is being compiled, and there is nothing to serve. `stale`: it was
 * refused, and what it held before serves on. `failed`: it was refused, and there is nothing to serve. `ignored`: it does
 * not look like data. `replaced`: it is fine, and newer data of its kind serve in its place.
 */
export type FileState = 'ok' | 'replaced' | 'waiting' | 'stale' | 'failed' | 'ignored'

/** A file of the folder as it stands. */
export interface DataFile {
  readonly name: string
  readonly path: string
  readonly state: FileState
  /** Why it was refused, ignored or replaced, or what it waits for. */
  readonly reason: string | undefined
  readonly sizeBytes: number
  /** Of an MMDB that nobody knows. */
  readonly unrecognised: { readonly databaseType: string; readonly keys: readonly string[] } | undefined
  readonly provider: Provider | undefined
}

/** What is remembered of a file from one look to the next. */
interface Watched {
  file: DataFile
  /** Signature of the version that `file` is about; undefined before the first look. */
  taken: string | undefined
  /** Signature at the last look. A version counts when two looks in a row find it. */
  seen: string | undefined
  missed: number
}

interface FoundFile extends Version {
  readonly file: string
  /** The provider's. */
  readonly name: string
  readonly path: string
}

/** Names that stand for other sources of values. */
const TAKEN_NAMES: ReadonlySet<string> = new Set([RDNS, 'rules', 'iana'])

/** What happened to a file that was looked at, after so many seconds. */
export type LoadListener = (result: 'ok' | 'refused', seconds: number) => void

export interface FolderOptions {
  /** Where big tables are that were compiled; undefined: they are read here. */
  readonly compiledDir?: string | undefined
  /** It holds the sets that come by themselves, and need not exist. */
  readonly isDefault?: boolean
  /** It need not exist: without it there are no files. */
  readonly isOptional?: boolean
}

/** Looks without the file after which it counts as removed: one may fall between the steps of a replacement. */
const MISSED_MAX = 2

/**
 * The data files of a folder. Each `look` takes what is new or changed and drops what is gone. Files are told apart by
 * device, inode, size and times, and loaded aside: what cannot be loaded never replaces what serves.
 */
export class DataFolder {
  readonly #dir: string
  readonly #limits: EnrichmentLimits
  readonly #log: Logger
  readonly #onLoad: LoadListener
  readonly #compiledDir: string | undefined
  readonly #isDefault: boolean
  readonly #isOptional: boolean
  #sources: { readonly names: ReadonlySet<string>; readonly changedAtMs: number | undefined } | undefined
  readonly #watched = new Map<string, Watched>()

  constructor(dir: string, limits: EnrichmentLimits, log: Logger, onLoad: LoadListener, options: FolderOptions = {}) {
    this.#dir = dir
    this.#compiledDir = options.compiledDir
    this.#isDefault = options.isDefault === true
    this.#isOptional = this.#isDefault || options.isOptional === true
    this.#limits = limits
    this.#log = log
    this.#onLoad = onLoad
  }

  /** Whether the last look found nothing that another look has to confirm. */
  get isSettled(): boolean {
    return [...this.#watched.values()].every(
      ({ missed, seen, taken }) => missed === 0 && (seen === undefined || seen === taken),
    )
  }

  /** Providers that `sources.json` in the folder keeps up to date, as of the last look. */
  get sourceNames(): ReadonlySet<string> {
    return this.#sources?.names ?? new Set()
  }

  /** In the order of their file names. */
  get files(): readonly DataFile[] {
    return [...this.#watched.values()].map((watched) => watched.file)
  }

  /** In order of trust. */
  get providers(): readonly Provider[] {
    return this.files.flatMap((file) => file.provider ?? []).sort(byTrust)
  }

  /**
   * @param settled take files as they are, without waiting for a second look that finds them unchanged
   * @param signal ends the look before the next file
   * @returns whether anything changed
   * @throws when the folder cannot be read
   */
  async look(settled = false, signal?: AbortSignal): Promise<boolean> {
    const found = await this.#list()
    let changed = await this.#readSources()
    for (const entry of found.values()) {
      if (signal?.aborted) return changed
      changed = (await this.#lookAt(entry, this.#ownerOf(entry, found), settled)) || changed
    }
    for (const [file, watched] of this.#watched) {
      if (found.has(file)) continue
      watched.missed += 1
      if (watched.missed < MISSED_MAX) continue
      this.#watched.delete(file)
      this.#log.info({ provider: watched.file.name, path: watched.file.path }, 'enrichment file removed')
      changed = true
    }
    return changed
  }

  /** @returns whether there are other sources. A file with a mistake in it counts as none: `ipid db update` reports it. */
  async #readSources(): Promise<boolean> {
    const changedAtMs = await sourcesChangedAt(this.#dir)
    if (this.#sources !== undefined && this.#sources.changedAtMs === changedAtMs) return false
    const wasRead = this.#sources !== undefined
    const sources = changedAtMs === undefined ? [] : await readSources(this.#dir).catch(() => [])
    this.#sources = { names: new Set(sources.map(({ name }) => name)), changedAtMs }
    return wasRead
  }

  /** The data files that are there, by file name, in the order of these. */
  async #list(): Promise<Map<string, FoundFile>> {
    const files = (await this.#names()).sort()
    const found = await Promise.all(files.map((file) => this.#find(file)))
    return new Map(found.flatMap((entry) => (entry === undefined ? [] : [[entry.file, entry]])))
  }

  async #find(file: string): Promise<FoundFile | undefined> {
    const name = providerNameOf(file)
    if (name === undefined) return undefined
    const path = join(this.#dir, file)
    const version = await versionOf(path)
    return version && { file, name, path, ...version }
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#dir)
    } catch (error) {
      if (this.#isOptional && (error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  }

  /** The file that has a provider's name: the one that serves under it, or else the first that was not refused. */
  #ownerOf({ name, file }: FoundFile, found: ReadonlyMap<string, FoundFile>): string {
    const others = [...found.values()].filter((entry) => entry.name === name).map((entry) => entry.file)
    const serves = others.find((other) => this.#watched.get(other)?.file.provider !== undefined)
    return serves ?? others.find((other) => this.#watched.get(other)?.taken === undefined) ?? file
  }

  async #lookAt(found: FoundFile, owner: string, settled: boolean): Promise<boolean> {
    const signature = `${found.signature} ${owner}`
    const watched = this.#watched.get(found.file) ?? this.#watch(found)
    watched.missed = 0
    if (watched.taken === signature) return false
    if (!settled && watched.seen !== signature) {
      watched.seen = signature
      return false
    }
    const startedMs = performance.now()
    const next = await this.#load(watched.file, found.sizeBytes, found.file === owner ? undefined : owner)
    const after = await versionOf(found.path)
    if (after?.signature !== found.signature) {
      watched.seen = undefined
      return false
    }
    if (next === undefined) {
      watched.file = beingCompiled(watched.file)
      return false
    }
    watched.taken = signature
    watched.file = next
    this.#report(next, Math.round(performance.now() - startedMs) / 1_000)
    return true
  }

  #watch({ file, name, path }: FoundFile): Watched {
    const unread: DataFile = {
      name,
      path,
      state: 'waiting',
      reason: 'not read yet',
      sizeBytes: 0,
      unrecognised: undefined,
      provider: undefined,
    }
    const watched: Watched = { file: unread, taken: undefined, seen: undefined, missed: 0 }
    this.#watched.set(file, watched)
    return watched
  }

  /**
   * @param owner another file that has the provider's name
   * @returns undefined when it waits to be compiled
   */
  async #load(file: DataFile, sizeBytes: number, owner: string | undefined): Promise<DataFile | undefined> {
    const read = { ...file, sizeBytes, unrecognised: undefined }
    try {
      if (TAKEN_NAMES.has(file.name)) throw new InputError(`no data set can be named ${file.name}: rename the file`)
      if (owner !== undefined) throw new InputError(`${owner} has the same provider name: rename one of them`)
      const compiled = await this.#compiled(file, sizeBytes)
      const provider = compiled ?? (await loadDataFile(file.path, file.name, this.#limits, this.#isDefault))
      return { ...read, state: 'ok', reason: undefined, provider }
    } catch (error) {
      const reason = (error as Error).message
      if (error instanceof NotCompiledError) return undefined
      if (error instanceof NotDataError) return { ...read, state: 'ignored', reason, provider: undefined }
      const unrecognised =
        error instanceof UnknownMmdbError ? { databaseType: error.databaseType, keys: error.keys } : undefined
      return { ...read, state: file.provider === undefined ? 'failed' : 'stale', reason, unrecognised }
    }
  }

  async #compiled({ path, name }: DataFile, sizeBytes: number): Promise<Provider | undefined> {
    if (this.#compiledDir === undefined || !isBigTable(path, sizeBytes)) return undefined
    return await loadCompiled(this.#compiledDir, path, name, this.#limits)
  }

  #report(file: DataFile, seconds: number): void {
    const { name, path, reason, provider } = file
    if (file.state === 'ok') {
      this.#onLoad('ok', seconds)
      const { recognisedAs, records } = provider!
      const facts = { provider: name, path, recognised_as: recognisedAs, records, seconds }
      this.#log.info(facts, 'enrichment file loaded')
      for (const warning of provider!.warnings) this.#log.warn({ provider: name, path, warning }, 'enrichment file')
    } else if (file.state === 'ignored') {
      this.#log.warn({ provider: name, path, reason }, 'enrichment file ignored')
    } else {
      this.#onLoad('refused', seconds)
      const kept = file.state === 'stale' ? 'what it held before serves on' : 'nothing of it serves'
      this.#log.error({ provider: name, path, reason }, `enrichment file refused; ${kept}`)
    }
  }
}

/** What it held before serves on meanwhile. */
function beingCompiled(file: DataFile): DataFile {
  return file.provider === undefined ? { ...file, state: 'waiting', reason: 'it is being compiled' } : file
}
