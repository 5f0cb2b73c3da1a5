import { mkdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { openRangeFile, readRangeHead } from '../../providers/ranges/range-file.ts'
import { asRangeFile } from '../build/as-ranges.ts'
import { mmdbRangeFile } from '../build/mmdb-ranges.ts'
import { removeLeftovers, replaceFile } from '../replace-file.ts'
import { DEFAULT_SETS, type DefaultSet } from './sets.ts'

/** Increase it when the file made from a package changes. */
const MAKER_VERSION = 4

/** The folder of a package; undefined when it is not installed. */
type FindPackage = (name: string) => string | undefined

/** How to check an existing set: `head` detects a truncated file, `whole` any damage. */
type Check = 'head' | 'whole'

interface Waiting {
  readonly set: DefaultSet
  /** Folder of the package. */
  readonly folder: string
  /** The package, its version, and `MAKER_VERSION`. */
  readonly source: string
}

/** Whether a set must be made from its package: it is missing, damaged, or of another version. */
export async function defaultsWait(dir: string, check: Check, find: FindPackage = installed): Promise<boolean> {
  return (await waitingSets(dir, check, find)).length > 0
}

/**
 * Makes default data sets that are missing, damaged, or of another version from their packages. Each is replaced atomically:
 * a crash leaves the old one in place. Several processes may run it at once, because the result is the same.
 * @returns the names of the new sets
 * @throws Error with the package, when it cannot be read
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

/** Deletes files of earlier versions, which would be loaded under the same names. */
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
    if ((await sourceOf(pathOf(dir, set), check)) !== source) waiting.push({ set, folder, source })
  }
  return waiting
}

/** The source of an existing set; undefined when it is missing or damaged. */
async function sourceOf(path: string, check: Check): Promise<string | undefined> {
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

/** The last part of these packages' versions is the hour of their data: 2.3.2026061719. */
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
