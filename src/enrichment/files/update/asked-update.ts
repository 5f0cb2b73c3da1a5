import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../replace-file.ts'
import { addSource, type SourceEntry } from './sources.ts'

/** An update of the data in a folder, requested by an operator. */
export interface AskedUpdate {
  /** ISO 8601, UTC. */
  readonly askedAt: string
  /** Undefined while it waits or is under way. */
  readonly outcome: UpdateOutcome | undefined
}

/** How an update ended. */
export interface UpdateOutcome {
  /** ISO 8601, UTC. */
  readonly endedAt: string
  /** Files that are new, or have other content. */
  readonly changed: readonly string[]
  readonly failures: readonly SourceFailure[]
}

/** A source that could not be fetched. */
export interface SourceFailure {
  readonly file: string
  readonly reason: string
}

/** A file, so that a request survives the process that took it and the one that fetches. */
const ASKED_FILE = '.asked-update.json'
/** Some hundred bytes for each source. It is read every two seconds. */
const BYTES_MAX = 1_048_576

/** The last update that was asked for; undefined when there is none, or its file is damaged. */
export async function readAskedUpdate(dir: string): Promise<AskedUpdate | undefined> {
  const path = join(dir, ASKED_FILE)
  try {
    const stats = await stat(path)
    // A pipe would never end, and a folder cannot be read.
    if (!stats.isFile() || stats.size > BYTES_MAX) return undefined
    const json: unknown = JSON.parse(await readFile(path, 'utf8'))
    return isAskedUpdate(json) ? json : undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof SyntaxError || ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code ?? '')) return undefined
    throw error
  }
}

/**
 * Adds sources to `sources.json`, which keeps those that it has, and then asks for an update, unless one is under way. The
 * folder is made when it is missing. Not to be called twice at a time.
 */
export async function askForUpdate(dir: string, sources: readonly SourceEntry[], askedAt: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  for (const source of sources) await addSource(dir, source)
  const asked = await readAskedUpdate(dir)
  const isUnderWay = asked !== undefined && asked.outcome === undefined
  if (!isUnderWay) await write(dir, { askedAt, outcome: undefined })
}

/** Notes how the update that was asked for has ended. */
export async function endAskedUpdate(dir: string, { askedAt }: AskedUpdate, outcome: UpdateOutcome): Promise<void> {
  await write(dir, { askedAt, outcome })
}

async function write(dir: string, asked: AskedUpdate): Promise<void> {
  await replaceFile(join(dir, ASKED_FILE), `${JSON.stringify(asked, null, 2)}\n`)
}

function isAskedUpdate(value: unknown): value is AskedUpdate {
  if (typeof value !== 'object' || value === null) return false
  const { askedAt, outcome } = value as Record<string, unknown>
  return isMoment(askedAt) && (outcome === undefined || isOutcome(outcome))
}

function isOutcome(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { endedAt, changed, failures } = value as Record<string, unknown>
  const isText = (text: unknown) => typeof text === 'string'
  const isFailure = (failure: unknown) => {
    const { file, reason } = (failure ?? {}) as Record<string, unknown>
    return isText(file) && isText(reason)
  }
  return (
    isMoment(endedAt) &&
    Array.isArray(changed) &&
    changed.every(isText) &&
    Array.isArray(failures) &&
    failures.every(isFailure)
  )
}

function isMoment(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value))
}
