import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputError } from '../../../core/run/errors.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../limits.ts'
import { isGeofeed } from '../../providers/lists/geofeed.ts'
import { openMmdb } from '../../providers/mmdb/open.ts'
import { decodeText } from '../../providers/text/text-file.ts'
import { vendorTableIn } from '../../providers/vendor-tables/rows.ts'
import { writeTables } from '../build/organisations-writer.ts'
import { openTableFile } from '../build/table-file.ts'
import { providerNameOf } from '../data-file.ts'
import { readAbout } from './load.ts'
import { ABOUT_FILE, type About, compiledFolder, isBigTable, NETWORKS_FILE, SYSTEMS_FILE } from './place.ts'

/** What became of a big table. */
export interface CompiledFile {
  readonly path: string
  /** Undefined when the table changed meanwhile: it waits for the next round. */
  readonly about: About | undefined
}

/** A version of a big table, and where what is made of it belongs. */
export interface BigTable {
  readonly path: string
  readonly folder: string
}

/** Big tables of a folder that wait to be compiled. */
export async function uncompiledTables(enrichDir: string, dir: string): Promise<BigTable[]> {
  const waiting = []
  for (const table of await bigTables(enrichDir, dir)) {
    if ((await readAbout(table.folder)) === undefined) waiting.push(table)
  }
  return waiting
}

/** Compiles the big tables of a folder that wait for it, and removes what was compiled of tables that are gone. */
export async function* compileFolder(enrichDir: string, dir: string): AsyncGenerator<CompiledFile> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  for (const table of await uncompiledTables(enrichDir, dir)) {
    yield { path: table.path, about: await compile(table, dir) }
  }
  const used = new Set((await bigTables(enrichDir, dir)).map(({ folder }) => basename(folder)))
  for (const name of await readdir(dir)) {
    if (!used.has(name)) await rm(join(dir, name), { recursive: true, force: true })
  }
}

async function bigTables(enrichDir: string, dir: string): Promise<BigTable[]> {
  const found = []
  for (const file of (await readdir(enrichDir)).sort()) {
    if (providerNameOf(file) === undefined) continue
    const path = join(enrichDir, file)
    const stats = await stat(path).catch(() => undefined)
    if (stats?.isFile() !== true || !isBigTable(path, stats.size)) continue
    const folder = await compiledFolder(dir, path)
    if (folder !== undefined) found.push({ path, folder })
  }
  return found
}

/** Whoever looks finds the whole folder, or none, also after a crash. */
async function compile({ path, folder }: BigTable, dir: string): Promise<About | undefined> {
  const part = join(dir, `.${basename(folder)}.part`)
  await rm(part, { recursive: true, force: true })
  await mkdir(part)
  const about = await compileInto(part, path)
  // What was read is of the version that the folder is named after, or nobody learns of it.
  if ((await compiledFolder(dir, path)) === folder) {
    await write(join(part, ABOUT_FILE), JSON.stringify(about))
    await rename(part, folder)
    return about
  }
  await rm(part, { recursive: true })
  return undefined
}

async function compileInto(folder: string, path: string): Promise<About> {
  const limits = DEFAULT_ENRICHMENT_LIMITS
  try {
    if (/\.csv/i.test(path)) {
      // Neither is a table of organisations; each is read as what it is.
      const text = await decodeText(await readFile(path), limits.textBytesMax)
      if (isGeofeed(text) || vendorTableIn('.csv', text) !== undefined) return { direct: true }
    }
    const table = await openTableFile(path, limits)
    const { writer, rows, networks, systems } = await writeTables([table], Date.now())
    if (networks > 0) {
      const bytes = writer.toBuffer()
      await openMmdb(bytes)
      await write(join(folder, NETWORKS_FILE), bytes)
    }
    // Which addresses are an AS's, other providers say when they are asked.
    const lines = systems.map(
      ({ asn, record }) => `${JSON.stringify({ asn, record: { ...(record as object), scope: undefined } })}\n`,
    )
    await write(join(folder, SYSTEMS_FILE), lines.join(''))
    return { rows, unknownColumns: [...table.unknownColumns], networks: networks > 0 }
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    return { reason: error.message.replace(`${path}: `, '') }
  }
}

async function write(path: string, content: Uint8Array | string): Promise<void> {
  const file = await open(path, 'w')
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}
