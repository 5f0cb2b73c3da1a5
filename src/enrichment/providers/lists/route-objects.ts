import type { NoiseClass } from '../../../../schemas/classification.ts'
import { clip } from '../../addresses/network.ts'
import { lineError, linesOf } from '../text/text-file.ts'
import { readNetworks } from './cidr-list.ts'
import type { NoiseList } from './entry.ts'

/** `route: 192.0.2.0/24` in an Internet Routing Registry such as RADB (RFC 2622, RFC 4012). */
const ROUTE = /^route6?:(.*)$/i
const ORIGIN = /^origin:\s*AS(\d{1,10})\b/i
/** Other attributes of the object, and continuation lines. */
const OTHER = /^(?:[a-z][a-z0-9-]*:|[ \t+])/i
/** Registries start comments with `%`, people with `#`. */
const COMMENT = /^\s*(?:[%#].*)?$/
/** Origins to read for the class of the list. */
const ORIGINS_MAX = 5

/** Whether a text is an answer of a routing registry, or its lines with routes. */
export function areRouteObjects(text: Buffer): boolean {
  for (const { text: line } of linesOf(text)) if (!COMMENT.test(line)) return ROUTE.test(line)
  return false
}

/** The first few AS numbers that originate the routes. */
export function originsOf(text: Buffer): readonly number[] {
  const origins = new Set<number>()
  for (const { text: line } of linesOf(text)) {
    const asn = ORIGIN.exec(line)?.[1]
    if (asn !== undefined) origins.add(Number(asn))
    if (origins.size === ORIGINS_MAX) break
  }
  return [...origins]
}

/** @throws InputError with the line and the reason */
export async function readRouteObjects(
  text: Buffer,
  noiseClass: NoiseClass,
  recognisedAs: string,
  rowsMax: number,
): Promise<NoiseList> {
  const networkIn = (content: string, line: number) => {
    if (COMMENT.test(content)) return undefined
    const network = ROUTE.exec(content)?.[1]?.split('#', 1)[0]?.trim()
    if (network === undefined && !OTHER.test(content)) {
      throw lineError(line, `"${clip(content)}" is not an attribute of a route object`)
    }
    return network
  }
  return { recognisedAs, entries: await readNetworks(text, noiseClass, rowsMax, networkIn) }
}
