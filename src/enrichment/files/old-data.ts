import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { buildDateOf } from '../providers/mmdb/build-date.ts'
import { ageOf, isTooOld } from './age.ts'
import { providerNameOf } from './data-file.ts'
import { readRangeHead } from './defaults/head.ts'
import { DEFAULT_SETS } from './defaults/sets.ts'
import { KNOWN_SOURCES } from './update/known-sources.ts'
import { SOURCES_FILE } from './update/sources.ts'

export interface DataFolders {
  /** `ENRICH_DIR`; undefined: the starter data serve. */
  readonly enrichDir: string | undefined
  /** Of the default data sets; undefined: they are off. */
  readonly defaultsDir: string | undefined
}

/**
 * What is too old in the folders, and what to do about it, in one sentence. Undefined when all are new enough, or do not
 * say how old they are.
 */
export async function oldDataIn({ enrichDir, defaultsDir }: DataFolders, nowMs: number): Promise<string | undefined> {
  const own = enrichDir === undefined ? [] : await oldIn(enrichDir, nowMs)
  const old = [...own, ...(defaultsDir === undefined ? [] : await oldIn(defaultsDir, nowMs))]
  if (old.length === 0) return undefined
  const ages = old.map(({ name, days }) => `${name} (${days} days)`).join(', ')
  return `data are old: ${ages}; newer ones: ${newerData(old, enrichDir)}`
}

interface OldSet {
  readonly name: string
  readonly days: number
}

/** The command that lets newer data come. */
function newerData(old: readonly OldSet[], enrichDir: string | undefined): string {
  const sources = new Set<string>()
  let isUnknown = false
  for (const { name } of old) {
    const source =
      DEFAULT_SETS.find((set) => set.name === name)?.newer ??
      KNOWN_SOURCES.find(({ file }) => providerNameOf(file) === name)?.name
    if (source === undefined) isUnknown = true
    else sources.add(source)
  }
  const dir = enrichDir ?? './enrich'
  const start = enrichDir === undefined ? `, then start with ENRICH_DIR=${dir}` : ''
  const add = sources.size === 0 ? [] : [`./ipid db add ${[...sources].join(' ')} --enrich-dir ${dir}${start}`]
  return [...add, ...(isUnknown ? [`from where they came, or ./ipid db update with ${SOURCES_FILE}`] : [])].join('; ')
}

async function builtAtOf(path: string): Promise<Date | undefined> {
  if (!/\.ranges$/i.test(path)) return await buildDateOf(path)
  const builtAtMs = (await readRangeHead(path))?.builtAtMs ?? 0
  return builtAtMs === 0 ? undefined : new Date(builtAtMs)
}

async function oldIn(dir: string, nowMs: number): Promise<OldSet[]> {
  const old = []
  for (const file of (await readdir(dir).catch(() => [])).sort()) {
    const name = providerNameOf(file)
    if (name === undefined || !/\.(?:mmdb|ranges)$/i.test(file)) continue
    const dated = { builtAt: await builtAtOf(join(dir, file)).catch(() => undefined) }
    if (isTooOld(dated, nowMs)) old.push({ name, days: ageOf(dated, nowMs)! })
  }
  return old
}
