import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, mkdtemp, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { InputError } from '../../../run/errors.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../limits.ts'
import type { Summary } from '../formats/format.ts'
import { formatOf } from '../formats/formats.ts'
import { mappingPathOf } from '../formats/mmdb.ts'
import { replaceFile } from '../replace-file.ts'
import { DEFAULT_UPDATE_LIMITS, download, type UpdateLimits, type Validators } from './download.ts'
import { type Source, shownUrl } from './sources.ts'
import { headOf, unpack } from './unpack.ts'

export interface UpdateOptions {
  readonly dir: string
  readonly sources: readonly Source[]
  /** Holds the licence keys. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number
  /** Fetch only missing files and sources that are due. */
  readonly dueOnly?: boolean
  readonly limits?: UpdateLimits
}

/** The outcome for a source. */
export interface UpdateReport {
  readonly file: string
  /** Without secrets. */
  readonly url: string
  readonly status: 'added' | 'updated' | 'unchanged' | 'not_due' | 'failed'
  /** Reason of a failure. */
  readonly reason: string | undefined
  /** The new file, if any. */
  readonly now: Summary | undefined
  /** The replaced file, if any. */
  readonly before: Summary | undefined
}

const WORK_FOLDER = '.update-'
const WORK_AGE_MAX_MS = 86_400_000

/** Updates the files one by one. On a failure it reports the reason and keeps the old file. */
export async function* updateSources(options: UpdateOptions): AsyncGenerator<UpdateReport> {
  await removeLeftovers(options)
  for (const source of options.sources) yield await updateSource(source, options)
}

/** Whether the file of a source is missing, or due by its schedule. */
export async function anyDue(dir: string, sources: readonly Source[], nowMs: number): Promise<boolean> {
  const states = await readStates(dir)
  for (const source of sources) {
    if ((await stat(join(dir, source.file)).catch(() => undefined)) === undefined) return true
    const state = states.get(source.file)
    if (isDue(source, state?.url === urlHash(source.url) ? state : undefined, nowMs)) return true
  }
  return false
}

async function updateSource(source: Source, options: UpdateOptions): Promise<UpdateReport> {
  const { file } = source
  const report = { file, url: shownUrl(source.url), reason: undefined, now: undefined, before: undefined }
  const { dir, nowMs } = options
  const states = await readStates(dir)
  const isThere = (await stat(join(dir, file)).catch(() => undefined)) !== undefined
  const state = states.get(file)
  const known = isThere && state?.url === urlHash(source.url) ? state : undefined
  if (options.dueOnly === true && isThere && !isDue(source, known, nowMs)) return { ...report, status: 'not_due' }
  const work = await mkdtemp(join(dir, WORK_FOLDER))
  try {
    const fetched = await fetchInto(work, source, known, options)
    const next: FetchState = {
      etag: known?.etag,
      lastModified: known?.lastModified,
      ...fetched,
      url: urlHash(source.url),
      checkedAtMs: nowMs,
    }
    const result = fetched === undefined ? undefined : await replace(dir, work, source, isThere)
    await remember(dir, states, file, next)
    return result === undefined ? { ...report, status: 'unchanged' } : { ...report, ...result }
  } catch (error) {
    return { ...report, status: 'failed', reason: (error as Error).message }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function isDue({ everyMs }: Source, state: FetchState | undefined, nowMs: number): boolean {
  if (everyMs === undefined) return false
  return state === undefined || state.checkedAtMs + everyMs <= nowMs
}

async function fetchInto(work: string, source: Source, known: FetchState | undefined, options: UpdateOptions) {
  const { env, limits = DEFAULT_UPDATE_LIMITS } = options
  const key = source.keyEnv === undefined ? undefined : env[source.keyEnv]?.trim()
  if (source.keyEnv !== undefined && (key === undefined || key === '')) {
    throw new InputError(`the environment variable ${source.keyEnv} is not set`)
  }
  // Without this check, the error of `fetch` for an invalid header would contain the key.
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new InputError(`the environment variable ${source.keyEnv} holds characters that are not valid in a key`)
  }
  const path = join(work, 'fetched')
  const validators = await download(source, key, known ?? {}, path, { nowMs: options.nowMs, limits })
  if (validators === undefined) return undefined
  if (await isWebPage(path)) throw new InputError('the server sent a web page instead of data')
  await unpack(path, join(work, source.file), limits.bytesMax, options.nowMs)
  return validators
}

async function isWebPage(path: string): Promise<boolean> {
  return /^\ufeff?\s*<(?:!doctype html|html|head|body)\b/i.test((await headOf(path)).toString('utf8'))
}

/** Loads a fetched file to validate it, then replaces the old one. Undefined when both are equal. */
async function replace(
  dir: string,
  work: string,
  { file, name }: Source,
  isThere: boolean,
): Promise<Pick<UpdateReport, 'status' | 'now' | 'before'> | undefined> {
  const [from, to] = [join(work, file), join(dir, file)]
  if (isThere && (await digest(from)) === (await digest(to))) return undefined
  const mapping = mappingPathOf(to)
  if (mapping !== undefined) await copyFile(mapping, mappingPathOf(from)!).catch(ignoreMissing)
  const now = await summaryOf(from, name)
  const before = isThere ? await readBefore(to, name) : undefined
  await flush(from)
  await rename(from, to)
  return { status: isThere ? 'updated' : 'added', now, before }
}

/** Undefined when the old file cannot be read, which is no reason to keep it. */
async function readBefore(path: string, name: string): Promise<Summary | undefined> {
  try {
    return await summaryOf(path, name)
  } catch {
    return undefined
  }
}

async function summaryOf(path: string, name: string): Promise<Summary> {
  const format = await formatOf(path)
  if (format.summarise !== undefined) return await format.summarise(path)
  const { recognisedAs, records, builtAt } = await format.load({ path, name, limits: DEFAULT_ENRICHMENT_LIMITS })
  return { recognisedAs, records, builtAt }
}

async function remember(dir: string, states: FetchStates, file: string, state: FetchState): Promise<void> {
  states.set(file, state)
  await writeStates(dir, states)
}

async function digest(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Deletes old folders of killed updates. Recent ones may belong to a running update. */
async function removeLeftovers({ dir, nowMs }: UpdateOptions): Promise<void> {
  for (const file of await readdir(dir)) {
    if (!file.startsWith(WORK_FOLDER)) continue
    const stats = await stat(join(dir, file)).catch(() => undefined)
    if (stats !== undefined && nowMs - stats.mtimeMs > WORK_AGE_MAX_MS) {
      await rm(join(dir, file), { recursive: true, force: true })
    }
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/** The state of a source between updates. */
interface FetchState extends Validators {
  /** Hash of the URL in `sources.json`, because the URL may hold a key. A new URL invalidates the state. */
  readonly url: string
  /** Time of the last successful check, milliseconds since the Unix epoch. */
  readonly checkedAtMs: number
}

/** By file name. */
type FetchStates = Map<string, FetchState>

function urlHash(url: string): string {
  return createHash('sha256').update(url).digest('hex')
}

const STATE_FILE = '.sources-state.json'

/** Empty when the file is missing or damaged: then everything is fetched again. */
async function readStates(dir: string): Promise<FetchStates> {
  try {
    const json: unknown = JSON.parse(await readFile(join(dir, STATE_FILE), 'utf8'))
    if (typeof json !== 'object' || json === null) return new Map()
    return new Map(Object.entries(json).filter((entry): entry is [string, FetchState] => isState(entry[1])))
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw error
  }
}

async function writeStates(dir: string, states: FetchStates): Promise<void> {
  await replaceFile(join(dir, STATE_FILE), `${JSON.stringify(Object.fromEntries(states), null, 2)}\n`)
}

function isState(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { url, checkedAtMs, etag, lastModified } = value as Record<string, unknown>
  const isText = (text: unknown) => text === undefined || (typeof text === 'string' && /^[\x20-\x7e]*$/.test(text))
  return typeof url === 'string' && typeof checkedAtMs === 'number' && isText(etag) && isText(lastModified)
}
