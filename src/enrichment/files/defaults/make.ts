import { mkdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { RANGE_FILE, type RangeFileHead } from '../../providers/ranges/range-file.ts'
import { readSealedHead, type SealedCheck, type SealedKind, sourceOfSealedFile } from '../../providers/sealed-file.ts'
import { PACKED_TABLE } from '../../providers/tables/packed-table.ts'
import { rulesDigest } from '../../rules/decided.ts'
import { asRangeFile } from '../build/as-ranges.ts'
import { withDecisions } from '../build/decide-ranges.ts'
import { mmdbRangeFile } from '../build/mmdb-ranges.ts'
import { providerNameOf } from '../data-file.ts'
import { STARTER_DIR } from '../folder.ts'
import { removeLeftovers, replaceFile } from '../replace-file.ts'
import { packedPathOf, packStarter, STARTER_TABLE, starterSource } from './packed-starter.ts'
import { DEFAULT_SETS, type DefaultSet } from './sets.ts'

/** Increase it when the file made from a package changes. */
const MAKER_VERSION = 5

/** The folder of a package; undefined when it is not installed. */
type FindPackage = (name: string) => string | undefined

/** A file of the default data. */
interface DefaultFile {
  /** The name of its provider. */
  readonly name: string
  readonly path: string
  readonly kind: SealedKind
  /** The source of a current file. */
  readonly source: string
  make(): Promise<Buffer>
}

/** Whether a set, or the packed form of the starter table, must be made: it is missing, damaged, or of another version. */
export async function defaultsWait(dir: string, check: SealedCheck, find: FindPackage = installed): Promise<boolean> {
  return (await filesToMake(dir, check, find)).length > 0
}

/**
 * Makes default data sets that are missing, damaged, or of another version from their packages, and the packed form of the
 * starter table. Each is replaced atomically: a crash leaves the old one in place. Several processes may run it at once,
 * because the result is the same.
 * @returns the names of the new sets
 * @throws Error with the package, when it cannot be read
 */
export async function makeDefaults(dir: string, find: FindPackage = installed): Promise<string[]> {
  const made: string[] = []
  const files = await filesToMake(dir, 'whole', find)
  if (files.length === 0) return made
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await removeLeftovers(dir)
  await removeOlder(dir)
  for (const { name, path, make } of files) {
    await replaceFile(path, await make())
    made.push(name)
  }
  return made
}

/** Whether the decisions of the rules about a set are missing, or of other rules. */
export async function decisionsWait(dir: string): Promise<boolean> {
  return (await undecidedFiles(dir)).length > 0
}

/**
 * Adds the decisions of the rules to the sets about autonomous systems. It takes ten times as long as to make them, and answers
 * are the same without, so a service starts before.
 * @returns the names of the sets
 */
export async function decideDefaults(dir: string): Promise<string[]> {
  const names: string[] = []
  for (const { name, path } of await undecidedFiles(dir)) {
    await replaceFile(path, await withDecisions(await readFile(path)))
    names.push(name)
  }
  return names
}

async function undecidedFiles(dir: string): Promise<{ readonly name: string; readonly path: string }[]> {
  const files = []
  for (const { name, kind } of DEFAULT_SETS) {
    const path = join(dir, `${name}.ranges`)
    const head = kind === 'asn' ? await readSealedHead<RangeFileHead>(RANGE_FILE, path) : undefined
    if (head !== undefined && head.rules !== rulesDigest().text) files.push({ name, path })
  }
  return files
}

/** Deletes files of earlier versions, which would be loaded under the same names. */
async function removeOlder(dir: string): Promise<void> {
  for (const name of ['.made.json', ...DEFAULT_SETS.map((set) => `${set.name}.mmdb`)]) {
    await rm(join(dir, name), { force: true })
  }
}

async function filesToMake(dir: string, check: SealedCheck, find: FindPackage): Promise<DefaultFile[]> {
  const files: DefaultFile[] = []
  for (const file of [...(await setFiles(dir, find)), await starterFile(dir)]) {
    if ((await sourceOfSealedFile(file.kind, file.path, check)) !== file.source) files.push(file)
  }
  return files
}

async function starterFile(dir: string): Promise<DefaultFile> {
  const text = await readFile(join(STARTER_DIR, STARTER_TABLE))
  const source = starterSource(text)
  return {
    name: providerNameOf(STARTER_TABLE)!,
    path: packedPathOf(dir),
    kind: PACKED_TABLE,
    source,
    make: () => packStarter(text, source),
  }
}

/** Sets whose package is installed. */
async function setFiles(dir: string, find: FindPackage): Promise<DefaultFile[]> {
  const files: DefaultFile[] = []
  for (const set of DEFAULT_SETS) {
    const folder = find(set.package)
    if (folder === undefined) continue
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string }
    const source = `${set.package} ${version} ${MAKER_VERSION}`
    const make = () =>
      bytesOf(set, folder, source).catch((error: Error) => {
        throw new Error(`the data of ${set.package} cannot be used: ${error.message}`, { cause: error })
      })
    files.push({ name: set.name, path: join(dir, `${set.name}.ranges`), kind: RANGE_FILE, source, make })
  }
  return files
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
