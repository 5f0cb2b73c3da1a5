import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { numbered } from '../../run/counted.ts'
import { buildDateOf } from '../providers/mmdb/build-date.ts'
import { RANGE_FILE, type RangeFileHead } from '../providers/ranges/range-file.ts'
import { readSealedHead } from '../providers/sealed-file.ts'
import { providerNameOf } from './data-file.ts'
import { ageOf, hasSource, isTooOld, newerSourceOf } from './renewal.ts'
import { readSources } from './update/sources.ts'

interface DataFolders {
  /** The folder of `ipid db add` and `ipid db update`. It need not exist. */
  readonly sourcesDir: string
  /** The folder of the default data sets; undefined when they are off. */
  readonly defaultsDir: string | undefined
}

/** Messages about data older than 90 days. Data without a build date count as new. */
interface OldData {
  /** Set when a configured source brings nothing newer. */
  readonly warning: string | undefined
  /** The command that fetches newer data, if any. */
  readonly advice: string | undefined
}

/** Reports old data in the folders. */
export async function oldDataIn({ sourcesDir, defaultsDir }: DataFolders, nowMs: number): Promise<OldData> {
  const sources = new Set((await readSources(sourcesDir).catch(() => [])).map(({ name }) => name))
  const own = await datedIn(sourcesDir, nowMs)
  const kindsOfNew = own.filter(({ isOld }) => !isOld).map(({ name }) => name)
  const defaults = defaultsDir === undefined ? [] : await datedIn(defaultsDir, nowMs)
  const old = [
    ...own.filter(({ isOld }) => isOld),
    // Fetched data have replaced the other default sets.
    ...defaults.filter(({ name, isOld }) => isOld && !hasSource(name, new Set(kindsOfNew))),
  ]
  const stale = old.filter(({ name }) => hasSource(name, sources))
  const unfetched = old.filter(({ name }) => !hasSource(name, sources))
  const newer = [...new Set(unfetched.flatMap(({ name }) => newerSourceOf(name) ?? []))]
  return {
    warning:
      stale.length === 0
        ? undefined
        : `data are old: ${listOf(stale)}; their sources bring nothing newer: see "./ipid db update"`,
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
  const builtAtMs = (await readSealedHead<RangeFileHead>(RANGE_FILE, path))?.builtAtMs ?? 0
  return builtAtMs === 0 ? undefined : new Date(builtAtMs)
}
