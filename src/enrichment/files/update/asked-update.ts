import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../replace-file.ts'
import { addSource, type SourceEntry } from './sources.ts'

/** An operator's request to update the data of a folder. */
export interface AskedUpdate {
  /** ISO 8601, UTC. */
  readonly askedAt: string
  /** Undefined until the update has ended. */
  readonly outcome: UpdateOutcome | undefined
}

/** How an update ended. */
export interface UpdateOutcome {
  /** ISO 8601, UTC. */
  readonly endedAt: string
  /** New and changed files. */
  readonly changed: readonly string[]
  readonly failures: readonly SourceFailure[]
}

/** A source that could not be fetched. */
export interface SourceFailure {
  readonly file: string
  readonly reason: string
}

/** A file, so that a request survives crashes of the process that accepts it and of the one that fetches. */
const ASKED_FILE = '.asked-update.json'
/** Some hundred bytes for each source. It is read every two seconds. */
const BYTES_MAX = 1_048_576

/** The last requested update; undefined when there is none or its file is damaged. */
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
 * Adds sources to `sources.json`, then requests an update unless one is in progress. Creates a missing folder. Concurrent
 * calls are not safe.
 */
export async function askForUpdate(dir: string, sources: readonly SourceEntry[], askedAt: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  for (const source of sources) await addSource(dir, source)
  const asked = await readAskedUpdate(dir)
  const isInProgress = asked !== undefined && asked.outcome === undefined
  if (!isInProgress) await write(dir, { askedAt, outcome: undefined })
}

/** Records the outcome of the requested update. */
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
