import { type Block, encodeBlock } from '../../core/event/block.ts'
import type { Lane } from '../../core/pipeline/lane.ts'
import { counterFields, keys } from '../keys.ts'
import type { ScriptArgument } from '../scripts.ts'

/** Where a block goes, and the key of who writes it: one of that stream alone, or of that call. */
export interface AppendPlace {
  readonly partition: number
  readonly stream: string
  readonly lane: Lane
  readonly producer: string
}

/** Keys and arguments of `append-N`, behind those of the commit. */
export interface AppendCall {
  readonly keys: string[]
  readonly args: ScriptArgument[]
}

/** One block in a call of `append-N`. */
export function appendCall({ partition, stream, lane, producer }: AppendPlace, block: Block): AppendCall {
  const fields = encodeBlock(block)
  return {
    keys: [keys.stream(partition, stream, lane), producer, keys.counters(partition)],
    args: [block.count, counterFields.addedPrefix(stream, lane), fields.length, ...fields],
  }
}
