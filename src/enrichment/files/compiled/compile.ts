import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { DEFAULT_ENRICHMENT_LIMITS, type EnrichmentLimits } from '../../limits.ts'
import { isGeofeed } from '../../providers/lists/geofeed.ts'
import { openMmdb } from '../../providers/mmdb/open.ts'
import type { MmdbWriter } from '../../providers/mmdb/writer.ts'
import { decodeText } from '../../providers/text/text-file.ts'
import { type VendorTable, vendorTableIn } from '../../providers/vendor-tables/rows.ts'
import { writeTables } from '../build/organisations-writer.ts'
import { openTableFile } from '../build/table-file.ts'
import { writeVendorTable } from '../build/vendor-writer.ts'
import { providerNameOf } from '../data-file.ts'
import { isPart, partName, removeLeftovers } from '../leftovers.ts'
import { ABOUT_FILE, type About, compiledFolder, isBigTable, NETWORKS_FILE, SYSTEMS_FILE } from './layout.ts'
import { readAbout } from './load.ts'

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

/**
 * Compiles the big tables of a folder that wait for it, and removes what was compiled of tables that are gone. Others
 * may do so at the same time.
 * @param only the one table to compile
 * @throws Error that names the file, when something but the table itself is in the way
 */
export async function* compileFolder(enrichDir: string, dir: string, only?: string): AsyncGenerator<CompiledFile> {
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: Error) => {
    throw new Error(`the folder of compiled tables cannot be made: ${error.message}`, { cause: error })
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

/** What was compiled of tables that are gone, and what a process that was killed left of its work. */
async function removeUnused(enrichDir: string, dir: string): Promise<void> {
  await removeLeftovers(dir)
  const used = new Set((await bigTables(enrichDir, dir)).map(({ folder }) => basename(folder)))
  for (const name of await readdir(dir)) {
    if (!used.has(name) && !isPart(name)) await rm(join(dir, name), { recursive: true, force: true })
  }
}

/** Whoever looks finds the whole folder, or none, also after a crash. */
async function compile({ path, folder }: BigTable, dir: string): Promise<About | undefined> {
  const part = join(dir, partName(basename(folder)))
  await rm(part, { recursive: true, force: true })
  try {
    await mkdir(part)
    const about = await compileInto(part, path)
    // What was read is of the version that the folder is named after, or nobody learns of it.
    if ((await compiledFolder(dir, path)) !== folder) return undefined
    await write(join(part, ABOUT_FILE), JSON.stringify(about))
    await publish(part, folder)
    return about
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

/** Others that publish the same at the same time. */
const PUBLISH_TRIES = 5

/** What is there is damaged, unless another process made it meanwhile. */
async function publish(part: string, folder: string): Promise<void> {
  for (let tries = 1; (await readAbout(folder)) === undefined; tries++) {
    await rm(folder, { recursive: true, force: true })
    try {
      return await rename(part, folder)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // It was made between the two.
      if ((code !== 'ENOTEMPTY' && code !== 'EEXIST') || tries === PUBLISH_TRIES) throw error
    }
  }
}

async function compileInto(folder: string, path: string): Promise<About> {
  const limits = DEFAULT_ENRICHMENT_LIMITS
  try {
    const vendors = /\.ndjson/i.test(path) ? undefined : await vendorTableOf(path, limits)
    if (vendors === 'geofeed') return { direct: true }
    if (vendors !== undefined) return await compileVendors(folder, vendors, limits)
    return await compileOrganisations(folder, path, limits)
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    return { reason: error.message.replace(`${path}: `, '') }
  }
}

/** Undefined for a table of organisations. A geofeed is read as the list that it is. */
async function vendorTableOf(
  path: string,
  limits: EnrichmentLimits,
): Promise<(() => VendorTable) | 'geofeed' | undefined> {
  const text = await decodeText(await readFile(path), limits.textBytesMax)
  const [ending] = /\.(?:csv|tsv)(?:\.gz)?$/i.exec(path) ?? ['']
  if (vendorTableIn(ending, text) !== undefined) return () => vendorTableIn(ending, text)!
  return isGeofeed(text) ? 'geofeed' : undefined
}

async function compileVendors(folder: string, table: () => VendorTable, limits: EnrichmentLimits): Promise<About> {
  const { writer, rows, shape } = await writeVendorTable(table, limits.tableRowsMax)
  await writeNetworks(folder, writer)
  return { rows, shape }
}

async function compileOrganisations(folder: string, path: string, limits: EnrichmentLimits): Promise<About> {
  const table = await openTableFile(path, limits)
  const { writer, rows, networks, systems } = await writeTables([table], Date.now())
  if (networks > 0) await writeNetworks(folder, writer)
  // Which addresses are an AS's, other providers say when they are asked.
  const lines = systems.map(
    ({ asn, record }) => `${JSON.stringify({ asn, record: { ...(record as object), scope: undefined } })}\n`,
  )
  await write(join(folder, SYSTEMS_FILE), lines.join(''))
  return { rows, unknownColumns: [...table.unknownColumns], networks: networks > 0 }
}

async function writeNetworks(folder: string, writer: MmdbWriter): Promise<void> {
  const bytes = writer.toBuffer()
  await openMmdb(bytes)
  await write(join(folder, NETWORKS_FILE), bytes)
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

/** The folder of what is fetched is made with the first source. */
async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
