import { setImmediate } from 'node:timers/promises'
import { BOTS, type Bot, isBot } from '../../../../schemas/bots.ts'
import type { NoiseClass } from '../../../../schemas/classification.ts'
import { InputError } from '../../../run/errors.ts'
import { clip, parseCidr } from '../../addresses/network.ts'
import { lineError, linesOf } from '../text/text-file.ts'
import type { ListEntry, NoiseList } from './entry.ts'

const LINES_AT_A_TIME = 2_000

/** A comment that names the bot of the networks below it. */
const BOT = /^#\s?bot: (\S+)$/

/**
 * Reads a list of CIDRs, one per line; `#` starts a comment. In a list of bots, `# bot: googlebot` names the bot of the lines below.
 * @param bot of the lines before the first of these comments
 * @throws InputError with the line and the reason
 */
export async function readCidrList(
  text: Buffer,
  noiseClass: NoiseClass,
  recognisedAs: string,
  rowsMax: number,
  bot?: Bot,
): Promise<NoiseList> {
  let current = bot
  const networkIn = (content: string, line: number) => {
    const named = noiseClass === 'bot' ? BOT.exec(content)?.[1] : undefined
    if (named !== undefined && !isBot(named)) {
      throw lineError(line, `"${clip(named)}" is not a bot that is known: must be ${Object.keys(BOTS).join(', ')}`)
    }
    current = named ?? current
    return content.split('#', 1)[0]!.trim() || undefined
  }
  const entries = await readNetworks(text, noiseClass, rowsMax, networkIn, () => current)
  if (entries.length === 0) throw new InputError('the list holds no networks')
  return { recognisedAs, entries }
}

/**
 * Reads the networks of a list, yielding to other work.
 * @param networkIn extracts the CIDR of a line; undefined for none
 * @param botNow the bot of the line that was read last
 * @throws InputError with the line and the reason
 */
export async function readNetworks(
  text: Buffer,
  noiseClass: NoiseClass,
  rowsMax: number,
  networkIn: (content: string, line: number) => string | undefined,
  botNow: () => Bot | undefined = () => undefined,
): Promise<ListEntry[]> {
  const entries: ListEntry[] = []
  for (const { line, text: content } of linesOf(text)) {
    if (line % LINES_AT_A_TIME === 0) await setImmediate()
    const network = networkIn(content, line)
    if (network === undefined) continue
    const range = parseCidr(network)
    if (typeof range === 'string') throw lineError(line, range)
    if (entries.length === rowsMax) throw lineError(line, `more than ${rowsMax} networks`)
    const bot = botNow()
    entries.push(bot === undefined ? { range, noiseClass } : { range, noiseClass, bot })
  }
  return entries
}
