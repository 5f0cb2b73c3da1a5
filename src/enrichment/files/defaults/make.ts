import { mkdir, readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { openMmdb } from '../../providers/mmdb/open.ts'
import { compileAsRanges } from '../build/as-ranges.ts'
import { removeLeftovers } from '../leftovers.ts'
import { replaceFile } from '../replace-file.ts'
import { DEFAULT_SETS, type DefaultSet } from './sets.ts'

/** Counts up when the same package would be made into something else. */
const MAKER_VERSION = 2

/** Says of which version of its package each set was made. */
const MADE_FILE = '.made.json'

/** The folder of a package; undefined when it is not installed. */
export type FindPackage = (name: string) => string | undefined

interface Waiting {
  readonly set: DefaultSet
  readonly folder: string
  /** The package's, and ours. */
  readonly version: string
}

/** Whether there are sets whose packages are newer than what was made of them. */
export async function defaultsWait(dir: string, find: FindPackage = installed): Promise<boolean> {
  return (await waitingSets(dir, find)).length > 0
}

/**
 * Makes the default data sets out of their packages, as far as that was not done before. Each is replaced in one step;
 * whoever is killed in between leaves what was there, and the next one goes on.
 * @returns the names of those that were made
 */
export async function makeDefaults(dir: string, find: FindPackage = installed): Promise<string[]> {
  const made = []
  for (const { set, folder, version } of await waitingSets(dir, find)) {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await removeLeftovers(dir)
    const bytes = await bytesOf(set, folder, version)
    await openMmdb(bytes)
    await replaceFile(join(dir, `${set.name}.mmdb`), bytes)
    const versions = { ...(await readMade(dir)), [set.name]: version }
    await replaceFile(join(dir, MADE_FILE), JSON.stringify(versions))
    made.push(set.name)
  }
  return made
}

async function waitingSets(dir: string, find: FindPackage): Promise<Waiting[]> {
  const made = await readMade(dir)
  const waiting = []
  for (const set of DEFAULT_SETS) {
    const folder = find(set.package)
    if (folder === undefined) continue
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string }
    const wanted = `${version} ${MAKER_VERSION}`
    const isThere = (await stat(join(dir, `${set.name}.mmdb`)).catch(() => undefined)) !== undefined
    if (made[set.name] !== wanted || !isThere) waiting.push({ set, folder, version: wanted })
  }
  return waiting
}

async function bytesOf({ package: name, files }: DefaultSet, folder: string, version: string): Promise<Buffer> {
  const contents = await Promise.all(files.map((file) => readFile(join(folder, file))))
  if (/\.mmdb$/.test(files[0]!)) return contents[0]!
  return await compileAsRanges(contents, builtAtMs(version), `${name} ${version}`)
}

/** These packages state the hour of their data as the last part of their versions: 2.3.2026061719. */
function builtAtMs(version: string): number {
  const parts = /\.(\d{4})(\d\d)(\d\d)(\d\d)? /.exec(version)
  return parts === null ? 0 : Date.UTC(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]), Number(parts[4] ?? 0))
}

/** Damaged, it says nothing, and all is made anew. */
async function readMade(dir: string): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(join(dir, MADE_FILE), 'utf8')) as Record<string, string>
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

function installed(name: string): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}
