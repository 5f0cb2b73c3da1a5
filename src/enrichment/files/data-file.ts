import type { BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { NotDataError } from '../providers/lists/read-list.ts'
import type { Provider } from '../providers/provider.ts'
import type { FileToRead } from './formats/format.ts'
import { companionsOf, formatOf, formatsNamed } from './formats/formats.ts'

/** Files of the folder that hold no data. */
const NOT_DATA = /^(?:\..*|sources\.json|.*\.mmdb\.json|.*~)$/i

export { NotDataError }

/** The provider's name for a file: lower case, without the extension. Undefined when the file holds no data. */
export function providerNameOf(file: string): string | undefined {
  if (NOT_DATA.test(file)) return undefined
  const format = formatsNamed(file)[0]
  return format && file.replace(format.ending, '').toLowerCase()
}

/**
 * Loads the data of one file.
 * @throws InputError with the reason when the file cannot be used
 */
export async function loadDataFile(file: FileToRead): Promise<Provider> {
  const format = await formatOf(file.path)
  return await format.load(file)
}

export interface Version {
  readonly signature: string
  readonly sizeBytes: number
}

/** The version of a file and its companions, by their metadata. Undefined when the file is missing or not a regular file. */
export async function versionOf(path: string): Promise<Version | undefined> {
  const [stats, ...companions] = await Promise.all([path, ...companionsOf(path)].map(statFile))
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
