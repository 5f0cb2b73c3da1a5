import { mkdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { openRangeFile } from '../../providers/ranges/range-file.ts'
import { asRangeFile } from '../build/as-ranges.ts'
import { mmdbRangeFile } from '../build/mmdb-ranges.ts'
import { removeLeftovers } from '../leftovers.ts'
import { replaceFile } from '../replace-file.ts'
import { readRangeHead } from './head.ts'
import { DEFAULT_SETS, type DefaultSet } from './sets.ts'

/** Counts up when the same package would be made into something else. */
const MAKER_VERSION = 3

/** The folder of a package; undefined when it is not installed. */
export type FindPackage = (name: string) => string | undefined

/** How closely a set that was made is looked at: `head` finds one that is cut off, `whole` any that is damaged. */
export type Check = 'head' | 'whole'

interface Waiting {
  readonly set: DefaultSet
  /** Of its package. */
  readonly folder: string
  /** What it is made of: the package, its version and ours. */
  readonly source: string
}

/** Whether there are sets that are to be made of their packages: they are missing, damaged, or of another version. */
export async function defaultsWait(dir: string, check: Check, find: FindPackage = installed): Promise<boolean> {
  return (await waitingSets(dir, check, find)).length > 0
}

/**
 * Makes the default data sets of their packages, where they are missing, damaged, or of another version. Each is replaced
 * in one step: a crash leaves the old one in place. Several processes may do so at once, since they make the same.
 * @returns the names of those that were made
 * @throws Error that names the package, when one cannot be read
 */
export async function makeDefaults(dir: string, find: FindPackage = installed): Promise<string[]> {
  const made: string[] = []
  const waiting = await waitingSets(dir, 'whole', find)
  if (waiting.length === 0) return made
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await removeLeftovers(dir)
  await removeOlder(dir)
  for (const { set, folder, source } of waiting) {
    const bytes = await bytesOf(set, folder, source).catch((error: Error) => {
      throw new Error(`the data of ${set.package} cannot be used: ${error.message}`, { cause: error })
    })
    await replaceFile(pathOf(dir, set), bytes)
    made.push(set.name)
  }
  return made
}

function pathOf(dir: string, { name }: DefaultSet): string {
  return join(dir, `${name}.ranges`)
}

/** An earlier version of the product kept the sets in other files, which would serve under the same names. */
async function removeOlder(dir: string): Promise<void> {
  for (const name of ['.made.json', ...DEFAULT_SETS.map((set) => `${set.name}.mmdb`)]) {
    await rm(join(dir, name), { force: true })
  }
}

async function waitingSets(dir: string, check: Check, find: FindPackage): Promise<Waiting[]> {
  const waiting = []
  for (const set of DEFAULT_SETS) {
    const folder = find(set.package)
    if (folder === undefined) continue
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string }
    const source = `${set.package} ${version} ${MAKER_VERSION}`
    if ((await madeOf(pathOf(dir, set), check)) !== source) waiting.push({ set, folder, source })
  }
  return waiting
}

/** What a set was made of; undefined when it is missing or damaged. */
async function madeOf(path: string, check: Check): Promise<string | undefined> {
  const head = await readRangeHead(path)
  if (head === undefined || check === 'head') return head?.source
  try {
    return openRangeFile(await readFile(path)).head.source
  } catch (error) {
    if (error instanceof InputError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function bytesOf({ files }: DefaultSet, folder: string, source: string): Promise<Buffer> {
  const contents = await Promise.all(files.map((file) => readFile(join(folder, file))))
  return /\.mmdb$/.test(files[0]!)
    ? await mmdbRangeFile(contents[0]!, source)
    : await asRangeFile(contents, builtAtMs(source), source)
}

/** These packages state the hour of their data as the last part of their versions: 2.3.2026061719. */
function builtAtMs(source: string): number {
  const parts = /\.(\d{4})(\d\d)(\d\d)(\d\d)? /.exec(source)
  return parts === null ? 0 : Date.UTC(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]), Number(parts[4] ?? 0))
}

function installed(name: string): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}
