import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { NOISE_CLASSES, type NoiseClass } from '../../../schemas/classification.ts'
import { InputError } from '../../core/run/errors.ts'
import type { EnrichmentLimits } from '../limits.ts'
import { readCidrList } from '../providers/lists/cidr-list.ts'
import { isGeofeed, readGeofeed } from '../providers/lists/geofeed.ts'
import { noiseListProvider } from '../providers/lists/provider.ts'
import { readPublished } from '../providers/lists/published.ts'
import { loadMmdb } from '../providers/mmdb/provider.ts'
import type { Provider } from '../providers/provider.ts'
import { loadTable } from '../providers/tables/provider.ts'
import { decodeText } from '../providers/text/text-file.ts'

const ENDINGS = /\.(?:mmdb|(?:csv|ndjson|txt|json)(?:\.gz)?)$/i
/** Cloudflare publishes its lists under these names. */
const CLOUDFLARE = /^ips-v[46](?:\.txt)?$/i
/** Files of the folder that hold no data. */
const NOT_DATA = /^(?:\..*|sources\.json|.*\.mmdb\.json|.*~)$/i

/** The file may be anything: a licence, a note. It is passed over, and said so. */
export class NotDataError extends InputError {
  override name = 'NotDataError'
}

/** The mapping file beside an MMDB; undefined for other files. */
export function mappingPathOf(path: string): string | undefined {
  return /\.mmdb$/i.test(path) ? `${path}.json` : undefined
}

/** The provider's name for a file: lower case, without the ending. Undefined when the file is no data. */
export function providerNameOf(file: string): string | undefined {
  if (NOT_DATA.test(file)) return undefined
  if (!ENDINGS.test(file) && !CLOUDFLARE.test(file)) return undefined
  return file.replace(ENDINGS, '').toLowerCase()
}

/** The class that a file's name states as its first word: `cloud-aws.txt`. */
function classInName(file: string): NoiseClass | undefined {
  const word = /^([a-z]+)[-_.]/i.exec(file)?.[1]?.toLowerCase()
  return NOISE_CLASSES.find((noiseClass) => noiseClass === word)
}

/**
 * Loads the data of one file.
 * @param isDefault it is one of the sets that come by themselves
 * @throws InputError with the reason when the file cannot serve
 */
export async function loadDataFile(
  path: string,
  name: string,
  limits: EnrichmentLimits,
  isDefault = false,
): Promise<Provider> {
  const { size } = await stat(path)
  const isMmdb = mappingPathOf(path) !== undefined
  const bytesMax = isMmdb ? limits.mmdbBytesMax : limits.textBytesMax
  if (size > bytesMax) throw new InputError(`the file is larger than ${bytesMax} bytes`)
  const bytes = await readFile(path)
  const { recordsMax } = limits
  if (isMmdb) return loadMmdb({ name, bytes, mapping: await readMapping(path), recordsMax, isDefault })
  return loadText(basename(path), name, await decodeText(bytes, limits.textBytesMax), limits.tableRowsMax)
}

async function loadText(file: string, name: string, text: Buffer, rowsMax: number): Promise<Provider> {
  const noiseClass = classInName(file)
  const [ending] = ENDINGS.exec(file) ?? ['']
  if (/ndjson/i.test(ending)) return loadTable({ name, format: 'ndjson', text, rowsMax })
  if (/csv/i.test(ending)) {
    if (!isGeofeed(text)) return loadTable({ name, format: 'csv', text, rowsMax })
    return noiseListProvider(name, await readGeofeed(text, noiseClass ?? 'hosting', rowsMax))
  }
  if (/json/i.test(ending)) return noiseListProvider(name, readPublished(text, noiseClass, rowsMax))
  if (CLOUDFLARE.test(file)) {
    return noiseListProvider(name, await readCidrList(text, 'cdn', 'Cloudflare IPs', rowsMax))
  }
  if (noiseClass === undefined) {
    throw new NotDataError(`its name does not say what it lists: start it with ${NOISE_CLASSES.join('-, ')}-`)
  }
  return noiseListProvider(name, await readCidrList(text, noiseClass, `list of ${noiseClass} networks`, rowsMax))
}

/** Text of the mapping file beside an MMDB; undefined when there is none. */
export async function readMapping(path: string): Promise<string | undefined> {
  try {
    return await readFile(mappingPathOf(path)!, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
