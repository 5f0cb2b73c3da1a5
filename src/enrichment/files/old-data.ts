import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { numbered } from '../../run/counted.ts'
import { buildDateOf } from '../providers/mmdb/build-date.ts'
import { ageOf, isTooOld } from './age.ts'
import { providerNameOf } from './data-file.ts'
import { readRangeHead } from './defaults/head.ts'
import { hasSource, newerSourceOf } from './renewal.ts'
import { readSources } from './update/sources.ts'

export interface DataFolders {
  /** The folder of `ipid db add` and `ipid db update`; need not exist. */
  readonly sourcesDir: string
  /** Of the default data sets; undefined: they are off. */
  readonly defaultsDir: string | undefined
}

/** What to say of data that are older than 90 days. Data that do not say how old they are count as new. */
export interface OldData {
  /** A source is configured for them, and brings nothing newer; undefined: there are none. */
  readonly warning: string | undefined
  /** The command that fetches newer ones, for somebody who asked; undefined: there is nothing to advise. */
  readonly advice: string | undefined
}

/** Says what is too old in the folders, and what to do about it, each in one sentence. */
export async function oldDataIn({ sourcesDir, defaultsDir }: DataFolders, nowMs: number): Promise<OldData> {
  const sources = new Set((await readSources(sourcesDir).catch(() => [])).map(({ name }) => name))
  const own = await datedIn(sourcesDir, nowMs)
  const kindsOfNew = own.filter(({ isOld }) => !isOld).map(({ name }) => name)
  const defaults = defaultsDir === undefined ? [] : await datedIn(defaultsDir, nowMs)
  const old = [
    ...own.filter(({ isOld }) => isOld),
    // What was fetched has taken the place of the others.
    ...defaults.filter(({ name, isOld }) => isOld && !hasSource(name, new Set(kindsOfNew))),
  ]
  const stale = old.filter(({ name }) => hasSource(name, sources))
  const unfetched = old.filter(({ name }) => !hasSource(name, sources))
  const newer = [...new Set(unfetched.flatMap(({ name }) => newerSourceOf(name) ?? []))]
  return {
    warning:
      stale.length === 0
        ? undefined
        : `data are old: ${listOf(stale)}, and their sources bring nothing newer: see "./ipid db update"`,
    advice:
      newer.length === 0
        ? undefined
        : `newer data than ${listOf(unfetched)}: ./ipid db add ${newer.join(' ')} && ./ipid db update`,
  }
}

interface DatedSet {
  readonly name: string
  readonly days: number
  readonly isOld: boolean
}

function listOf(sets: readonly DatedSet[]): string {
  return sets.map(({ name, days }) => `${name} (${numbered(days, 'day')})`).join(', ')
}

async function datedIn(dir: string, nowMs: number): Promise<DatedSet[]> {
  const found = []
  for (const file of (await readdir(dir).catch(() => [])).sort()) {
    const name = providerNameOf(file)
    if (name === undefined || !/\.(?:mmdb|ranges)$/i.test(file)) continue
    const dated = { builtAt: await builtAtOf(join(dir, file)).catch(() => undefined) }
    const days = ageOf(dated, nowMs)
    if (days !== undefined) found.push({ name, days, isOld: isTooOld(dated, nowMs) })
  }
  return found
}

async function builtAtOf(path: string): Promise<Date | undefined> {
  if (!/\.ranges$/i.test(path)) return await buildDateOf(path)
  const builtAtMs = (await readRangeHead(path))?.builtAtMs ?? 0
  return builtAtMs === 0 ? undefined : new Date(builtAtMs)
}
