import { type Block, encodeBlock } from '../../core/event/block.ts'
import type { Lane } from '../../core/pipeline/lane.ts'
import type { RedisClient } from '../connect.ts'
import { counterFields, keys } from '../keys.ts'
import { replyCode } from '../reply-error.ts'
import { loadScript, type ScriptArgument, type Write } from '../scripts.ts'

/** Where a block goes, and the key of who writes it: one of that stream alone, or of that call. */
export interface AppendPlace {
  readonly partition: number
  readonly stream: string
  readonly lane: Lane
  readonly producer: string
}

/** One block of a call of `append-N`. */
export interface BlockAppend {
  /** The stream first. */
  readonly keys: readonly [stream: string, producer: string, counters: string]
  readonly count: number
  readonly counterPrefix: string
  readonly fields: readonly (string | Buffer)[]
  /** Of its rows. */
  readonly bytes: number
}

/** What blocks are appended under. */
export interface AppendOptions {
  /** Ascending per producer. */
  readonly sequence: number
  /** How long producers are remembered. */
  readonly producerTtlMs: number
  /** That it drains Redis, and so runs above its maxmemory. Default false. */
  readonly aboveMaxmemory?: boolean
}

const appendScript = loadScript('append-N')
const drainingScript = loadScript('append-N', { aboveMaxmemory: true })

/** Bytes of rows from which on a script is given them as entries that are there: see `Script.runBehind`. */
export const LARGE_BYTES = 65_536

export function blockAppend({ partition, stream, lane, producer }: AppendPlace, block: Block): BlockAppend {
  return {
    keys: [keys.stream(partition, stream, lane), producer, keys.counters(partition)],
    count: block.count,
    counterPrefix: counterFields.addedPrefix(stream, lane),
    fields: encodeBlock(block),
    bytes: block.rows.length,
  }
}

/**
 * Appends blocks, all of them or, when they are there already, none; each is of a stream of its own. Returns how many were added. May be
 * repeated.
 */
export async function appendBlocks(
  client: RedisClient,
  blocks: readonly BlockAppend[],
  { sequence, producerTtlMs, aboveMaxmemory = false }: AppendOptions,
): Promise<number> {
  const script = aboveMaxmemory ? drainingScript : appendScript
  const names = blocks.flatMap((block) => block.keys)
  const head = [sequence, producerTtlMs]
  if (blocks.reduce((sum, { bytes }) => sum + bytes, 0) >= LARGE_BYTES) {
    const args = blocks.flatMap(({ count, counterPrefix }) => [count, counterPrefix, 0])
    const additions = blocks.map(({ keys: [stream], fields }): Write => ['XADD', stream, '*', ...fields])
    try {
      return Number(await script.runBehind(client, additions, names, [...head, ...args]))
    } catch (error) {
      if (!aboveMaxmemory || replyCode(error) !== 'OOM') throw error
    }
  }
  const args = blocks.flatMap(({ count, counterPrefix, fields }): ScriptArgument[] => [
    count,
    counterPrefix,
    fields.length,
    ...fields,
  ])
  return Number(await script.run(client, names, [...head, ...args]))
}
