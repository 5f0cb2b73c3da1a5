import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../replace-file.ts'
import type { Validators } from './download.ts'

/** The state of a source between updates. */
export interface FetchState extends Validators {
  /** Hash of the URL in `sources.json`, because the URL may hold a key. A new URL invalidates the state. */
  readonly url: string
  /** Time of the last successful check, milliseconds since the Unix epoch. */
  readonly checkedAtMs: number
}

/** By file name. */
export type FetchStates = Map<string, FetchState>

export function urlHash(url: string): string {
  return createHash('sha256').update(url).digest('hex')
}

const STATE_FILE = '.sources-state.json'

/** Empty when the file is missing or damaged: then everything is fetched again. */
export async function readStates(dir: string): Promise<FetchStates> {
  try {
    const json: unknown = JSON.parse(await readFile(join(dir, STATE_FILE), 'utf8'))
    if (typeof json !== 'object' || json === null) return new Map()
    return new Map(Object.entries(json).filter((entry): entry is [string, FetchState] => isState(entry[1])))
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw error
  }
}

export async function writeStates(dir: string, states: FetchStates): Promise<void> {
  await replaceFile(join(dir, STATE_FILE), `${JSON.stringify(Object.fromEntries(states), null, 2)}\n`)
}

function isState(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { url, checkedAtMs, etag, lastModified } = value as Record<string, unknown>
  const isText = (text: unknown) => text === undefined || (typeof text === 'string' && /^[\x20-\x7e]*$/.test(text))
  return typeof url === 'string' && typeof checkedAtMs === 'number' && isText(etag) && isText(lastModified)
}
