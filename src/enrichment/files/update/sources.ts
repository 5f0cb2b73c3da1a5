import { readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { describeJsonError } from '../../../run/json-error.ts'
import { providerNameOf } from '../data-file.ts'
import { replaceFile } from '../replace-file.ts'

/** One entry of `sources.json`: the origin of a data file. */
export interface Source {
  /** http or https. `{key}` is replaced by the key, `{month}` by the current month: 2026-11. */
  readonly url: string
  /** Name of the file in the folder. */
  readonly file: string
  /** The provider's name. */
  readonly name: string
  /** Environment variable with the licence key. Without `{key}` in the URL, a header carries the key. */
  readonly keyEnv: string | undefined
  /** The key's account, for basic authentication. Without it, the key is a bearer token. */
  readonly keyUser: string | undefined
  /** Interval between downloads, milliseconds. */
  readonly everyMs: number | undefined
}

/** The file in the data folder that lists sources. */
export const SOURCES_FILE = 'sources.json'

const MEMBERS = ['url', 'file', 'key_env', 'key_user', 'schedule'] as const
type Entry = Partial<Record<(typeof MEMBERS)[number], string>>
/** The JSON of an entry of `sources.json`. */
export type SourceEntry = Entry & { readonly file: string }

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SCHEDULES: Readonly<Record<string, number>> = {
  hourly: HOUR_MS,
  daily: DAY_MS,
  weekly: 7 * DAY_MS,
  monthly: 30 * DAY_MS,
}

/** Modification time of `sources.json` in the folder, milliseconds; undefined without the file. */
export async function sourcesChangedAt(dir: string): Promise<number | undefined> {
  return (await stat(join(dir, SOURCES_FILE)).catch(() => undefined))?.mtimeMs
}

/** @throws InputError when the folder has no `sources.json`, or it is invalid */
export async function readSources(dir: string): Promise<Source[]> {
  const path = join(dir, SOURCES_FILE)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new InputError(
      `${path} does not exist: "./ipid db add iptoasn" creates it; it lists the files to fetch: [{"url": "…", "file": "…"}]`,
    )
  }
  try {
    return parseSources(text)
  } catch (error) {
    if (error instanceof InputError) throw new InputError(`${path}: ${error.message}`)
    throw error
  }
}

/**
 * Adds a source to `sources.json`, or creates the file. Keeps the other entries.
 * @returns false when the file already has a source
 * @throws InputError when the existing `sources.json` is invalid
 */
export async function addSource(dir: string, entry: SourceEntry): Promise<boolean> {
  const path = join(dir, SOURCES_FILE)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]'
    throw error
  })
  const name = providerNameOf(entry.file)
  let json: unknown
  try {
    if (parseSources(text).some((source) => source.name === name)) return false
    json = JSON.parse(text)
  } catch (error) {
    if (error instanceof InputError) throw new InputError(`${path}: ${error.message}`)
    throw error
  }
  if (Array.isArray(json)) json.push(entry)
  else if (Array.isArray((json as { sources?: unknown }).sources)) (json as { sources: unknown[] }).sources.push(entry)
  else {
    const { file, ...rest } = entry
    Object.assign(json as object, { [file]: rest })
  }
  await replaceFile(path, `${JSON.stringify(json, null, 2)}\n`)
  return true
}

/**
 * Parses a list of sources, `{"sources": […]}`, or an object that maps file names to sources or URLs.
 * @throws InputError with the reason
 */
export function parseSources(text: string): Source[] {
  const sources = entriesIn(parseJson(text)).map(readSource)
  for (const [i, { file, name }] of sources.entries()) {
    const first = sources.findIndex((source) => source.name === name)
    if (first !== i) throw new InputError(`${sources[first]!.file} and ${file} would be the same provider`)
  }
  return sources
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InputError(describeJsonError(text))
  }
}

function entriesIn(json: unknown): unknown[] {
  if (Array.isArray(json)) return json
  if (typeof json !== 'object' || json === null) throw new InputError('must be a list or an object')
  if ('sources' in json && Array.isArray(json.sources)) return json.sources
  return Object.entries(json).map(([file, value]) => {
    if (typeof value === 'string') return { file, url: value }
    return typeof value === 'object' && value !== null ? { file, ...value } : value
  })
}

function readSource(value: unknown, i: number): Source {
  const where = `source ${i + 1}`
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InputError(`${where} must be an object`)
  }
  for (const [member, content] of Object.entries(value)) {
    if (!MEMBERS.some((known) => known === member)) {
      throw new InputError(`${where}: unknown member "${member}": must be ${MEMBERS.join(', ')}`)
    }
    if (typeof content !== 'string' || content === '') throw new InputError(`${where}: ${member} must be text`)
  }
  const { url = '', key_env: keyEnv, key_user: keyUser, schedule, ...entry } = value as Entry
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new InputError(`${where}: url must be an http or https URL`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new InputError(
      `${where}: url must not hold a password; use key_env for its variable and key_user for its account`,
    )
  }
  if (url.includes('{key}') && keyEnv === undefined) throw new InputError(`${where}: {key} in url needs key_env`)
  const file = entry.file ?? basename(parsed.pathname)
  const name = basename(file) === file ? providerNameOf(file) : undefined
  if (name === undefined) throw new InputError(`${where}: file "${file}" must be the name of a data file`)
  return {
    url,
    file,
    name,
    keyEnv,
    keyUser,
    everyMs: schedule === undefined ? undefined : readSchedule(where, schedule),
  }
}

function readSchedule(where: string, schedule: string): number {
  const match = /^([1-9]\d{0,3})([hd])$/.exec(schedule)
  const everyMs = match === null ? SCHEDULES[schedule] : Number(match[1]) * (match[2] === 'h' ? HOUR_MS : DAY_MS)
  if (everyMs !== undefined) return everyMs
  throw new InputError(`${where}: schedule "${schedule}" must be ${Object.keys(SCHEDULES).join(', ')}, or like 6h, 3d`)
}

/** A URL without secrets, which may be in the query or in the user information. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
