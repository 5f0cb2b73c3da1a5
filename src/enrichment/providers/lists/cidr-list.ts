import { setImmediate } from 'node:timers/promises'
import type { NoiseClass } from '../../../../schemas/classification.ts'
import { InputError } from '../../../run/errors.ts'
import { parseCidr } from '../../addresses/network.ts'
import { lineError, linesOf } from '../text/text-file.ts'
import type { ListEntry, NoiseList } from './entry.ts'

const LINES_AT_A_TIME = 2_000

/**
 * Reads a list of CIDRs, one per line; `#` starts a comment.
 * @throws InputError with the line and the reason
 */
export async function readCidrList(
  text: Buffer,
  noiseClass: NoiseClass,
  recognisedAs: string,
  rowsMax: number,
): Promise<NoiseList> {
  const networkIn = (content: string) => content.split('#', 1)[0]!.trim() || undefined
  const entries = await readNetworks(text, noiseClass, rowsMax, networkIn)
  if (entries.length === 0) throw new InputError('the list holds no networks')
  return { recognisedAs, entries }
}

/**
 * Reads the networks of a list, yielding to other work.
 * @param networkIn extracts the CIDR of a line; undefined for none
 * @throws InputError with the line and the reason
 */
export async function readNetworks(
  text: Buffer,
  noiseClass: NoiseClass,
  rowsMax: number,
  networkIn: (content: string, line: number) => string | undefined,
): Promise<ListEntry[]> {
  const entries: ListEntry[] = []
  for (const { line, text: content } of linesOf(text)) {
    if (line % LINES_AT_A_TIME === 0) await setImmediate()
    const network = networkIn(content, line)
    if (network === undefined) continue
    const range = parseCidr(network)
    if (typeof range === 'string') throw lineError(line, range)
    if (entries.length === rowsMax) throw lineError(line, `more than ${rowsMax} networks`)
    entries.push({ range, noiseClass })
  }
  return entries
}
