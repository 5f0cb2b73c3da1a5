import { type Block, encodeBlock, SOURCE_FIELD } from '../../core/event/block.ts'
import type { Source } from '../../core/pipeline/source.ts'
import { counterFields, keys } from '../keys.ts'
import type { ScriptArgument } from '../scripts.ts'

/** What `append-N.lua` is given of one partition, behind what is common to a commit. */
export interface AppendPart {
  readonly keys: readonly string[]
  readonly args: readonly ScriptArgument[]
}

/** What a partition takes of a commit, as one; at least one of them. */
export interface PartBlocks {
  readonly events: Block | undefined
  /** The same events as they came, for the archive; and those that go nowhere else. */
  readonly payloads: Block | undefined
}

/** @param producer see `append-N.lua`: who numbers the commits */
export function appendPart(
  source: Pick<Source, 'to' | 'raw' | 'lane'>,
  producer: string,
  partition: number,
  { events, payloads }: PartBlocks,
): AppendPart {
  const { to, raw, lane } = source
  const names: string[] = []
  const args: ScriptArgument[] = []
  const add = (stream: string, block: Block, writer: string, link: string) => {
    const fields = encodeBlock(block)
    names.push(keys.stream(partition, stream, lane), keys.producer(partition, writer), keys.counters(partition))
    args.push(counterFields.addedPrefix(stream, lane), block.count, link, fields.length, ...fields)
  }
  if (events !== undefined) add(to, events, producer, '')
  if (payloads !== undefined) {
    if (raw === undefined) throw new Error('the source has no stream for payloads')
    // Each block needs a producer of its own: the script takes a number once.
    add(raw, payloads, `${producer}:${raw}`, events === undefined ? '' : SOURCE_FIELD)
  }
  return { keys: names, args }
}
