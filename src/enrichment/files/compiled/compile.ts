import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../limits.ts'
import { NotDataError, providerNameOf } from '../data-file.ts'
import { formatOf } from '../formats/formats.ts'
import { isPart, partName, removeLeftovers } from '../replace-file.ts'
import { ABOUT_FILE, type About, compiledFolder, isBigTable } from './layout.ts'
import { readAbout } from './load.ts'

interface CompiledFile {
  readonly path: string
  /** Undefined when the table changed during compilation. The next round compiles it again. */
  readonly about: About | undefined
}

/** A version of a big table, and the folder for its compiled form. */
export interface BigTable {
  readonly path: string
  readonly folder: string
}

/** Big tables of a folder that are not compiled yet. */
export async function uncompiledTables(enrichDir: string, dir: string): Promise<BigTable[]> {
  const waiting = []
  for (const table of await bigTables(enrichDir, dir)) {
    if ((await readAbout(table.folder)) === undefined) waiting.push(table)
  }
  return waiting
}

/**
 * Compiles the big tables of a folder that are not compiled yet, and deletes the compiled forms of removed tables. Several
 * processes may run it at the same time.
 * @param only compile only this table
 * @throws Error with the file for any problem but an invalid table
 */
export async function* compileFolder(enrichDir: string, dir: string, only?: string): AsyncGenerator<CompiledFile> {
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: Error) => {
    throw new Error(`the folder of compiled tables cannot be created: ${error.message}`, { cause: error })
  })
  await removeUnused(enrichDir, dir)
  for (const table of await uncompiledTables(enrichDir, dir)) {
    if (only !== undefined && table.path !== only) continue
    const about = await compile(table, dir).catch((error: Error) => {
      throw new Error(`${table.path} cannot be compiled into ${dir}: ${error.message}`, { cause: error })
    })
    yield { path: table.path, about }
  }
  await removeUnused(enrichDir, dir)
}

async function bigTables(enrichDir: string, dir: string): Promise<BigTable[]> {
  const found = []
  for (const file of (await namesIn(enrichDir)).sort()) {
    if (providerNameOf(file) === undefined) continue
    const path = join(enrichDir, file)
    const stats = await stat(path).catch(() => undefined)
    if (stats?.isFile() !== true || !isBigTable(path, stats.size)) continue
    const folder = await compiledFolder(dir, path)
    if (folder !== undefined) found.push({ path, folder })
  }
  return found
}

/** Deletes compiled forms of removed tables, and leftovers of killed processes. */
async function removeUnused(enrichDir: string, dir: string): Promise<void> {
  await removeLeftovers(dir)
  const used = new Set((await bigTables(enrichDir, dir)).map(({ folder }) => basename(folder)))
  for (const name of await readdir(dir)) {
    if (!used.has(name) && !isPart(name)) await rm(join(dir, name), { recursive: true, force: true })
  }
}

/** Atomic, even in a crash: readers see the whole folder or none. */
async function compile({ path, folder }: BigTable, dir: string): Promise<About | undefined> {
  const part = join(dir, partName(basename(folder)))
  await rm(part, { recursive: true, force: true })
  try {
    await mkdir(part)
    const about = await compileInto(part, path)
    // Discard the result unless the table still is the version that the folder is named after.
    if ((await compiledFolder(dir, path)) !== folder) return undefined
    await write(join(part, ABOUT_FILE), [Buffer.from(JSON.stringify(about))])
    await publish(part, folder)
    return about
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

/** Attempts against other processes that publish the same folder. */
const PUBLISH_TRIES = 5

/** Replaces a damaged folder. Keeps a valid one that another process has made. */
async function publish(part: string, folder: string): Promise<void> {
  for (let tries = 1; (await readAbout(folder)) === undefined; tries++) {
    await rm(folder, { recursive: true, force: true })
    try {
      return await rename(part, folder)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // Another process created the folder between `rm` and `rename`.
      if ((code !== 'ENOTEMPTY' && code !== 'EEXIST') || tries === PUBLISH_TRIES) throw error
    }
  }
}

async function compileInto(folder: string, path: string): Promise<About> {
  try {
    const { name, compiled } = await formatOf(path)
    if (compiled === undefined) return { direct: true }
    const about = await compiled.write(path, DEFAULT_ENRICHMENT_LIMITS, (file, parts) =>
      write(join(folder, file), parts),
    )
    return { format: name, ...about }
  } catch (error) {
    // It is loaded directly then, and the same problem is reported again.
    if (error instanceof NotDataError) return { direct: true }
    if (!(error instanceof InputError)) throw error
    return { reason: error.message.replace(`${path}: `, '') }
  }
}

async function write(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const file = await open(path, 'w')
  try {
    for (const part of parts) await file.writeFile(part)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Empty for a missing folder: the folder of fetched data is created with the first source. */
async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
