import { NOISE_CLASSES, type NoiseClass } from '../../../../schemas/classification.ts'
import { InputError } from '../../../run/errors.ts'
import { parseCidr } from '../../addresses/network.ts'
import { firstContentLine, linesOf } from '../text/text-file.ts'
import { readCidrList } from './cidr-list.ts'
import type { NoiseList } from './entry.ts'
import { isGeofeedText, readGeofeed } from './geofeed.ts'
import { readPublished } from './published.ts'
import { areRouteObjects, originsOf, readRouteObjects } from './route-objects.ts'
import { botOfFile, classOfOrigins, statedClass, suggestedClass } from './well-known.ts'

/** Cloudflare publishes its lists under these names. */
const CLOUDFLARE_NAME = /^ips-v[46](?:\.txt)?$/i

/** The file does not look like data, such as a licence or a note. It is reported and ignored. */
export class NotDataError extends InputError {
  override name = 'NotDataError'
}

/** Lines at the top that are searched for a class. */
const HEAD_LINES_MAX = 5

/** The class of a list, and a note on its origin for the name of the format. */
interface Found {
  readonly noiseClass: NoiseClass
  readonly because: string
}

/**
 * Reads a noise list in any published format.
 * @param file the file's name, which states or suggests the class if the format does not
 * @throws NotDataError when it does not look like a list, InputError with the reason when it cannot be used
 */
export async function readList(file: string, text: Buffer, rowsMax: number): Promise<NoiseList> {
  const bot = botOfFile(file)
  if (/\.json(?:\.gz)?$/i.test(file)) {
    return readPublished(text, statedClass(file) ?? (bot === undefined ? undefined : 'bot'), rowsMax, bot)
  }
  if (CLOUDFLARE_NAME.test(file)) return readCidrList(text, 'cdn', 'Cloudflare IPs', rowsMax)
  const found = classIn(file, text)
  if (isGeofeedText(text) || /\.csv(?:\.gz)?$/i.test(file)) {
    const { noiseClass, because } = found ?? { noiseClass: 'hosting', because: '' }
    return readGeofeed(text, noiseClass, `geofeed of ${noiseClass} networks${because}`, rowsMax)
  }
  if (areRouteObjects(text)) {
    const origins = originsOf(text)
    const noiseClass = found?.noiseClass ?? classOfOrigins(origins)
    const whose = origins.length === 0 ? '' : ` of ${origins.map((asn) => `AS${asn}`).join(', ')}`
    if (noiseClass === undefined) throw withoutClass(`${file} lists networks${whose}`)
    return readRouteObjects(text, noiseClass, `route objects of ${noiseClass} networks`, rowsMax)
  }
  if (statedClass(file) === undefined && !startsWithNetwork(text)) {
    throw new NotDataError(`its name states no class of networks: start it with ${NOISE_CLASSES.join('-, ')}-`)
  }
  if (found === undefined) throw withoutClass(`${file} lists networks`)
  const { noiseClass, because } = found
  return readCidrList(text, noiseClass, `list of ${noiseClass} networks${because}`, rowsMax, bot)
}

function classIn(file: string, text: Buffer): Found | undefined {
  const stated = statedClass(file)
  if (stated !== undefined) return { noiseClass: stated, because: '' }
  const byName = suggestedClass(file)
  if (byName !== undefined) return { noiseClass: byName, because: ', as its name suggests' }
  const byHead = suggestedClass(commentsAtTheHead(text))
  return byHead === undefined ? undefined : { noiseClass: byHead, because: ', as its first lines suggest' }
}

function commentsAtTheHead(text: Buffer): string {
  const comments = []
  for (const { line, text: content } of linesOf(text)) {
    if (line > HEAD_LINES_MAX || !content.startsWith('#')) break
    comments.push(content)
  }
  return comments.join(' ')
}

function startsWithNetwork(text: Buffer): boolean {
  const line = firstContentLine(text)?.split('#', 1)[0]?.trim()
  return line !== undefined && typeof parseCidr(line) !== 'string'
}

function withoutClass(what: string): InputError {
  const prefixes = NOISE_CLASSES.map((noiseClass) => `${noiseClass}-`)
  const choice = `${prefixes.slice(0, -1).join(', ')} or ${prefixes.at(-1)}`
  return new InputError(`${what}, but its name states no class: start it with ${choice}`)
}
