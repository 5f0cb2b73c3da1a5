import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { InputError } from '../../run/errors.ts'
import type { EnrichmentLimits } from '../limits.ts'
import { UnknownMmdbError } from '../providers/mmdb/provider.ts'
import { byTrust, type Provider } from '../providers/provider.ts'
import { RDNS } from '../providers/rdns/provider.ts'
import { isBigTable } from './compiled/layout.ts'
import { loadCompiled, NotCompiledError } from './compiled/load.ts'
import { loadDataFile, NotDataError, providerNameOf, type Version, versionOf } from './data-file.ts'
import { loadPackedStarter, STARTER_TABLE } from './defaults/packed-starter.ts'
import { replacementOf } from './renewal.ts'
import { readSources, sourcesChangedAt } from './update/sources.ts'

/** The data that ship with the product. */
export const STARTER_DIR = fileURLToPath(new URL('./starter/', import.meta.url))

/**
 * - `ok`: the file is in use.
 * - `waiting`: the file is not read or not compiled yet, and has no previous data.
 * - `stale`: the file was refused; its previous data stay in use.
 * - `failed`: the file was refused, and has no previous data.
 * - `ignored`: the file does not look like data.
 * - `replaced`: the file is valid, but newer data of its kind are in use.
 */
export type FileState = 'ok' | 'replaced' | 'waiting' | 'stale' | 'failed' | 'ignored'

/** A file of the folder and its state. */
export interface DataFile {
  readonly name: string
  readonly path: string
  readonly state: FileState
  /** Explains any state but `ok`. */
  readonly reason: string | undefined
  readonly sizeBytes: number
  /** Set for an intact MMDB that was not recognised. */
  readonly unrecognised: { readonly databaseType: string; readonly keys: readonly string[] } | undefined
  readonly provider: Provider | undefined
}

/** The state of a file between two polls. */
interface Watched {
  file: DataFile
  /** Signature of the loaded version. */
  taken: string | undefined
  /** Signature at the last poll. A version is loaded once two polls in a row agree on it. */
  seen: string | undefined
  /** Polls in a row without the file. */
  missed: number
}

interface FoundFile extends Version {
  readonly file: string
  /** The provider's. */
  readonly name: string
  readonly path: string
}

/** Names of other sources of values. */
const TAKEN_NAMES: ReadonlySet<string> = new Set([RDNS, 'rules', 'iana'])

/** Called after each load of a file with its duration. */
type LoadListener = (result: 'ok' | 'refused', seconds: number) => void

export interface FolderOptions {
  /** Folder of compiled big tables; undefined: this process reads the tables. */
  readonly compiledDir?: string | undefined
  /** For the starter data: the folder of the default data sets, with the packed form of the starter table. */
  readonly packedDir?: string | undefined
  /** The folder holds the default data sets. It need not exist. */
  readonly isDefault?: boolean
  /** The folder need not exist. */
  readonly isOptional?: boolean
}

/** Polls without the file until it counts as removed. One poll may hit the gap within a replacement. */
const MISSED_MAX = 2

/**
 * The data files of a folder. Each `look` loads new and changed files and drops removed ones. It detects changes by device,
 * inode, size and times. A file that cannot be loaded never replaces data in use.
 */
export class DataFolder {
  readonly #dir: string
  readonly #limits: EnrichmentLimits
  readonly #log: Logger
  readonly #onLoad: LoadListener
  readonly #compiledDir: string | undefined
  readonly #packedDir: string | undefined
  readonly #isDefault: boolean
  readonly #isOptional: boolean
  #sources: { readonly names: ReadonlySet<string>; readonly changedAtMs: number | undefined } | undefined
  readonly #watched = new Map<string, Watched>()

  constructor(dir: string, limits: EnrichmentLimits, log: Logger, onLoad: LoadListener, options: FolderOptions = {}) {
    this.#dir = dir
    this.#compiledDir = options.compiledDir
    this.#packedDir = options.packedDir
    this.#isDefault = options.isDefault === true
    this.#isOptional = this.#isDefault || options.isOptional === true
    this.#limits = limits
    this.#log = log
    this.#onLoad = onLoad
  }

  /** Whether the last look left nothing to confirm. */
  get isSettled(): boolean {
    return [...this.#watched.values()].every(
      ({ missed, seen, taken }) => missed === 0 && (seen === undefined || seen === taken),
    )
  }

  /** Names of providers with a source in the folder's `sources.json`, as of the last look. */
  get sourceNames(): ReadonlySet<string> {
    return this.#sources?.names ?? new Set()
  }

  /** By file name. */
  get files(): readonly DataFile[] {
    return [...this.#watched.values()].map((watched) => watched.file)
  }

  /** In order of trust. */
  get providers(): readonly Provider[] {
    return this.files.flatMap((file) => file.provider ?? []).sort(byTrust)
  }

  /**
   * @param settled load files at once, without a second look to confirm that they are unchanged
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

  /** @returns whether the sources changed. An invalid file counts as empty; `ipid db update` reports it. */
  async #readSources(): Promise<boolean> {
    const changedAtMs = await sourcesChangedAt(this.#dir)
    if (this.#sources !== undefined && this.#sources.changedAtMs === changedAtMs) return false
    const wasRead = this.#sources !== undefined
    const sources = changedAtMs === undefined ? [] : await readSources(this.#dir).catch(() => [])
    this.#sources = { names: new Set(sources.map(({ name }) => name)), changedAtMs }
    return wasRead
  }

  /** The data files in the folder, sorted by file name. */
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

  /** The file that owns a provider name: the one in use, or else the first that was not refused. */
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
   * @param owner another file that owns the provider's name
   * @returns undefined when it is not compiled yet
   */
  async #load(file: DataFile, sizeBytes: number, owner: string | undefined): Promise<DataFile | undefined> {
    const { path, name } = file
    const read = { ...file, sizeBytes, unrecognised: undefined }
    try {
      if (TAKEN_NAMES.has(file.name)) throw new InputError(`the name ${file.name} is reserved: rename the file`)
      if (owner !== undefined) throw new InputError(`${owner} has the same provider name: rename one of them`)
      const compiled = await this.#compiled(file, sizeBytes)
      const provider =
        compiled ?? (await loadDataFile({ path, name, limits: this.#limits, isDefault: this.#isDefault }))
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
    if (this.#packedDir !== undefined && basename(path) === STARTER_TABLE) {
      return await loadPackedStarter(path, name, this.#packedDir)
    }
    if (this.#compiledDir === undefined || !isBigTable(path, sizeBytes)) return undefined
    return await loadCompiled(this.#compiledDir, { path, name, limits: this.#limits })
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
      const kept = file.state === 'stale' ? 'its previous data stay in use' : 'it has no previous data'
      this.#log.error({ provider: name, path, reason }, `enrichment file refused; ${kept}`)
    }
  }
}

/** Keeps the state while previous data are in use. */
function beingCompiled(file: DataFile): DataFile {
  return file.provider === undefined ? { ...file, state: 'waiting', reason: 'it is being compiled' } : file
}

/**
 * The providers in use, in order of trust. Of two with one name, the one in the earlier folder wins. Newer data replace a
 * default set.
 */
export function providersOf(folders: readonly DataFolder[]): readonly Provider[] {
  const all = namedProviders(folders)
  return all.filter((provider) => replacementOf(provider, all) === undefined)
}

/** The files of the folders, with the state `replaced` for default sets that newer data replace. */
export function filesOf(folders: readonly DataFolder[]): readonly DataFile[] {
  const all = namedProviders(folders)
  return folders
    .flatMap((folder) => folder.files)
    .map((file) => {
      const newer = file.provider === undefined ? undefined : replacementOf(file.provider, all)
      if (newer === undefined) return file
      return { ...file, state: 'replaced', reason: `${newer.name} is newer and replaces it`, provider: undefined }
    })
}

function namedProviders(folders: readonly DataFolder[]): readonly Provider[] {
  const byName = new Map<string, Provider>()
  for (const provider of folders.flatMap((folder) => folder.providers)) {
    if (!byName.has(provider.name)) byName.set(provider.name, provider)
  }
  return [...byName.values()].sort(byTrust)
}
