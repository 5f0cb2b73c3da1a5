import type { RedisClient } from '../../stores/redis/connect.ts'
import { counterFields, keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { Lane } from '../declaration/lane.ts'
import { type Block, encodeBlock } from '../event/block.ts'

/** Where a block goes. */
interface AppendTarget {
  readonly partition: number
  readonly stream: string
  readonly lane: Lane
  /** Key of the producer. It belongs to this stream alone, or to all blocks of the call. */
  readonly producer: string
}

/** One block of a call of `append-N`. */
export interface BlockAppend {
  /** The stream first. */
  readonly keys: readonly [stream: string, producer: string, counters: string]
  readonly count: number
  readonly counterPrefix: string
  readonly fields: readonly (string | Buffer)[]
}

interface AppendOptions {
  /** Ascending per producer. */
  readonly sequence: number
  /** How long producers are remembered. */
  readonly producerTtlMs: number
  /** Whether the call drains Redis, and so runs above its maxmemory. Default false. */
  readonly aboveMaxmemory?: boolean
}

const using = '../../stores/redis/added-before.lua'
const appendScript = loadScript(import.meta.url, './append-N.lua', { using })
const drainingScript = loadScript(import.meta.url, './append-N.lua', { using, aboveMaxmemory: true })

export function blockAppend({ partition, stream, lane, producer }: AppendTarget, block: Block): BlockAppend {
  return {
    keys: [keys.stream(partition, stream, lane), producer, keys.counters(partition)],
    count: block.count,
    counterPrefix: counterFields.addedPrefix(stream, lane),
    fields: encodeBlock(block),
  }
}

/**
 * Appends blocks, each to another stream, and leaves out those that their producers have appended before. May be repeated.
 * @returns how many were appended
 */
export async function appendBlocks(
  client: RedisClient,
  blocks: readonly BlockAppend[],
  { sequence, producerTtlMs, aboveMaxmemory = false }: AppendOptions,
): Promise<number> {
  const script = aboveMaxmemory ? drainingScript : appendScript
  const additions = blocks.map(({ keys: [stream], fields }) => ({ stream, fields }))
  const names = blocks.flatMap((block) => block.keys)
  const added = await script.runAdding(client, additions, names, (parts) => [
    sequence,
    producerTtlMs,
    ...blocks.flatMap(({ count, counterPrefix }, i) => [count, counterPrefix, ...parts[i]!]),
  ])
  return Number(added)
}
