import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { DEFAULT_ENRICHMENT_LIMITS, type EnrichmentLimits } from '../../limits.ts'
import { isGeofeed } from '../../providers/lists/geofeed.ts'
import { openMmdb } from '../../providers/mmdb/open.ts'
import type { MmdbWriter } from '../../providers/mmdb/writer.ts'
import { isRegistryFile } from '../../providers/registry/files.ts'
import { decodeText } from '../../providers/text/text-file.ts'
import { type VendorTable, vendorTableIn } from '../../providers/vendor-tables/rows.ts'
import { writeTables } from '../build/organisations-writer.ts'
import { writeRegistry } from '../build/registry-writer.ts'
import { openTableFile } from '../build/table-file.ts'
import { writeVendorTable } from '../build/vendor-writer.ts'
import { NotDataError, providerNameOf } from '../data-file.ts'
import { isPart, partName, removeLeftovers } from '../replace-file.ts'
import {
  ABOUT_FILE,
  type About,
  BLOCKS_FILE,
  compiledFolder,
  isBigTable,
  NETWORKS_FILE,
  SYSTEMS_FILE,
} from './layout.ts'
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
  const limits = DEFAULT_ENRICHMENT_LIMITS
  try {
    if (isRegistryFile(path)) return await compileRegistry(folder, path, limits)
    const vendors = /\.ndjson/i.test(path) ? undefined : await vendorTableOf(path, limits)
    if (vendors === 'geofeed') return { direct: true }
    if (vendors !== undefined) return await compileVendors(folder, vendors, limits)
    return await compileOrganisations(folder, path, limits)
  } catch (error) {
    // It is loaded directly then, which says so again.
    if (error instanceof NotDataError) return { direct: true }
    if (!(error instanceof InputError)) throw error
    return { reason: error.message.replace(`${path}: `, '') }
  }
}

/** Undefined for an organisation table. A geofeed is not compiled. */
async function vendorTableOf(
  path: string,
  limits: EnrichmentLimits,
): Promise<(() => VendorTable) | 'geofeed' | undefined> {
  const text = await decodeText(await readFile(path), limits.textBytesMax)
  const [ending] = /\.(?:csv|tsv)(?:\.gz)?$/i.exec(path) ?? ['']
  if (vendorTableIn(ending, text) !== undefined) return () => vendorTableIn(ending, text)!
  return isGeofeed(text) ? 'geofeed' : undefined
}

async function compileRegistry(folder: string, path: string, limits: EnrichmentLimits): Promise<About> {
  const { parts, objects, builtAt, warnings } = await writeRegistry(path, limits)
  if (parts !== undefined) await write(join(folder, BLOCKS_FILE), parts)
  return { objects, blocks: parts !== undefined, builtAtMs: builtAt?.getTime() ?? null, warnings }
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
  // Rows about an AS stay apart: at lookup, other providers map the address to its AS.
  const lines = systems.map(
    ({ asn, record }) => `${JSON.stringify({ asn, record: { ...(record as object), scope: undefined } })}\n`,
  )
  await write(join(folder, SYSTEMS_FILE), [Buffer.from(lines.join(''))])
  return { rows, unknownColumns: [...table.unknownColumns], networks: networks > 0 }
}

async function writeNetworks(folder: string, writer: MmdbWriter): Promise<void> {
  const bytes = writer.toBuffer()
  await openMmdb(bytes)
  await write(join(folder, NETWORKS_FILE), [bytes])
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
