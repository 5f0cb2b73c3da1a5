import type { BigIntStats } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { InputError } from '../../run/errors.ts'
import type { EnrichmentLimits } from '../limits.ts'
import { isGeofeed } from '../providers/lists/geofeed.ts'
import { noiseListProvider } from '../providers/lists/provider.ts'
import { CLOUDFLARE_NAME, NotDataError, readList } from '../providers/lists/read-list.ts'
import { loadMmdb } from '../providers/mmdb/provider.ts'
import type { Provider } from '../providers/provider.ts'
import { loadRangeFile } from '../providers/ranges/provider.ts'
import { isRegistryFile, organisationPathsOf, registryNameOf } from '../providers/registry/files.ts'
import { organisationsProvider, registryProvider } from '../providers/registry/provider.ts'
import { loadTable } from '../providers/tables/provider.ts'
import { decodeText } from '../providers/text/text-file.ts'
import { loadVendorTable } from '../providers/vendor-tables/provider.ts'
import { vendorTableIn } from '../providers/vendor-tables/rows.ts'
import { writeRegistry } from './build/registry-writer.ts'

const ENDINGS = /\.(?:mmdb|ranges|(?:csv|ndjson|tsv|txt|json)(?:\.gz)?)$/i
/** Files of the folder that hold no data. */
const NOT_DATA = /^(?:\..*|sources\.json|.*\.mmdb\.json|.*~)$/i

export { NotDataError }

/** Path of the mapping file of an MMDB; undefined for other files. */
export function mappingPathOf(path: string): string | undefined {
  return /\.mmdb$/i.test(path) ? `${path}.json` : undefined
}

/** Files that change the meaning of a file: the mapping of an MMDB, the organisations of a registry's blocks. */
function companionPathsOf(path: string): readonly string[] {
  return [mappingPathOf(path) ?? [], organisationPathsOf(path)].flat()
}

/** The provider's name for a file: lower case, without the extension. Undefined when the file holds no data. */
export function providerNameOf(file: string): string | undefined {
  if (NOT_DATA.test(file)) return undefined
  if (isRegistryFile(file)) return registryNameOf(file)
  if (!ENDINGS.test(file) && !CLOUDFLARE_NAME.test(file)) return undefined
  return file.replace(ENDINGS, '').toLowerCase()
}

/**
 * Loads the data of one file.
 * @param isDefault whether it is a default data set
 * @throws InputError with the reason when the file cannot be used
 */
export async function loadDataFile(
  path: string,
  name: string,
  limits: EnrichmentLimits,
  isDefault = false,
): Promise<Provider> {
  if (isRegistryFile(path)) return loadRegistry(path, name, limits)
  const { size } = await stat(path)
  const isMmdb = mappingPathOf(path) !== undefined
  const isRanges = /\.ranges$/i.test(path)
  const bytesMax = isMmdb || isRanges ? limits.mmdbBytesMax : limits.textBytesMax
  if (size > bytesMax) throw new InputError(`the file is larger than ${bytesMax} bytes`)
  const bytes = await readFile(path)
  const { recordsMax } = limits
  if (isRanges) return loadRangeFile({ name, bytes, recordsMax, isDefault })
  if (isMmdb) return loadMmdb({ name, bytes, mapping: await readMapping(path), recordsMax, isDefault })
  return loadText(basename(path), name, await decodeText(bytes, limits.textBytesMax), limits)
}

/** Compiles it in this process. */
async function loadRegistry(path: string, name: string, limits: EnrichmentLimits): Promise<Provider> {
  const { parts, objects, builtAt, warnings } = await writeRegistry(path, limits)
  if (parts === undefined) return organisationsProvider(name, objects, builtAt)
  return registryProvider({ name, bytes: Buffer.concat(parts), recordsMax: limits.recordsMax, warnings })
}

async function loadText(file: string, name: string, text: Buffer, limits: EnrichmentLimits): Promise<Provider> {
  const { tableRowsMax: rowsMax, listBytesMax } = limits
  const [ending] = ENDINGS.exec(file) ?? ['']
  if (/ndjson/i.test(ending)) return loadTable({ name, format: 'ndjson', text, rowsMax })
  const vendors = vendorTableIn(ending, text)
  if (vendors !== undefined) return loadVendorTable({ name, ...vendors, rowsMax })
  if (/csv/i.test(ending) && !isGeofeed(text)) return loadTable({ name, format: 'csv', text, rowsMax })
  if (text.length > listBytesMax) throw new InputError(`a list of more than ${listBytesMax} bytes`)
  return noiseListProvider(name, await readList(file, text, rowsMax))
}

/** Text of the mapping file of an MMDB, if any. */
export async function readMapping(path: string): Promise<string | undefined> {
  try {
    return await readFile(mappingPathOf(path)!, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export interface Version {
  readonly signature: string
  readonly sizeBytes: number
}

/** The version of a file and its companions, by their metadata. Undefined when the file is missing or not a regular file. */
export async function versionOf(path: string): Promise<Version | undefined> {
  const [stats, ...companions] = await Promise.all([path, ...companionPathsOf(path)].map(statFile))
  if (stats === undefined) return undefined
  const present = [stats, ...companions.filter((companion) => companion !== undefined)]
  return { signature: present.map(signatureOf).join(' '), sizeBytes: Number(stats.size) }
}

async function statFile(path: string): Promise<BigIntStats | undefined> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined)
  return stats?.isFile() === true ? stats : undefined
}

function signatureOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}
