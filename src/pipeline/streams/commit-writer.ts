import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { UnavailableError } from '../../run/errors.ts'
import { type DelayBounds, retry } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { Lane } from '../declaration/lane.ts'
import { BlockPacker } from '../event/block.ts'
import { type OutcomeCounts, packOutcomes } from '../event/outcomes.ts'
import { appendBlocks, type BlockAppend, blockAppend } from './append.ts'

export interface CommitWriterOptions {
  /** A connection of kind `request`, used by nothing else, so that commits arrive in order. */
  readonly client: RedisClient
  readonly stream: string
  /** The stream for counts of events that are not stored; undefined: none. */
  readonly outcomesTo: string | undefined
  /** The stream for payloads of the archive; undefined: none. */
  readonly rawTo: string | undefined
  readonly lane: Lane
  /** On a Redis Cluster a commit needs one call per partition, else one call. See `GroupCommit`. */
  readonly cluster: boolean
  readonly log: Logger
  /** Called with counts that Redis has. */
  readonly onOutcomes?: (counts: OutcomeCounts) => void
}

/** The events of a commit that go into one partition. */
export interface Part {
  readonly envelopes: BlockPacker
  readonly payloads: BlockPacker
  readonly outcomes: Map<string, number>
}

export function emptyPart(): Part {
  return { envelopes: new BlockPacker(), payloads: new BlockPacker(), outcomes: new Map() }
}

/** Number of events, plus counts. An event with envelope and payload counts once. */
export function sizeOf({ envelopes, payloads, outcomes }: Part): number {
  return Math.max(envelopes.count, payloads.count) + outcomes.size
}

const RETRY_DELAY: DelayBounds = { minMs: 50, maxMs: 250 }
/** A producer that wrote nothing for this long has no commit in flight. */
const PRODUCER_TTL_MS = 3_600_000

/**
 * Writes commits under ascending numbers of its own. The script accepts a number only if it is higher than the last, so a commit whose
 * reply was lost can be sent again. For that, a writer has at most one commit in flight.
 */
export class CommitWriter {
  readonly #options: CommitWriterOptions
  readonly #producer = randomBytes(8).toString('hex')
  #sequence = 0

  constructor(options: CommitWriterOptions) {
    this.#options = options
  }

  /**
   * Tries until all blocks are on disk. Returns an error at the deadline.
   * @param onTaken called when Redis has the blocks; called again after a repeat
   */
  async write(
    byPartition: readonly Part[],
    deadlineMs: number,
    onTaken: () => void = () => {},
  ): Promise<UnavailableError | undefined> {
    const calls = this.#calls(byPartition)
    if (calls.length === 0) return undefined
    const attempt = async () => {
      await Promise.all(calls.map((call) => call()))
      onTaken()
      await persisted(this.#options.client, true)
    }
    try {
      await retry(() => inTime(attempt, deadlineMs), { delay: RETRY_DELAY, deadlineMs })
      for (const { outcomes } of byPartition) if (outcomes.size > 0) this.#options.onOutcomes?.(outcomes)
      return undefined
    } catch (failure) {
      const events = byPartition.reduce((sum, part) => sum + sizeOf(part), 0)
      this.#options.log.error(
        { err: failure, events },
        'Redis did not write a commit to its disk in time; its requests are refused',
      )
      return new UnavailableError('the event store did not answer in time', { cause: failure })
    }
  }

  /** The calls that write blocks, each safe to repeat. */
  #calls(byPartition: readonly Part[]): (() => Promise<unknown>)[] {
    const { client, cluster } = this.#options
    const sequence = this.#sequence + 1
    const commit = `${this.#producer}:${sequence}`
    // The blocks of one call are written together, so they need one producer only.
    const producerOf = (partition: number) => keys.producer(cluster ? partition : 0, this.#producer)
    const parts = byPartition.flatMap((part, partition) =>
      sizeOf(part) === 0 ? [] : [this.#part(part, partition, commit, producerOf(partition))],
    )
    if (parts.length === 0) return []
    this.#sequence = sequence
    const options = { sequence, producerTtlMs: PRODUCER_TTL_MS }
    if (cluster) return parts.map((part) => () => appendBlocks(client, part, options))
    const all = parts.flat()
    return [() => appendBlocks(client, all, options)]
  }

  #part({ envelopes, payloads, outcomes }: Part, partition: number, commit: string, producer: string): BlockAppend[] {
    const { stream, rawTo, outcomesTo, lane } = this.#options
    const blocks: BlockAppend[] = []
    if (envelopes.count > 0) {
      blocks.push(blockAppend({ partition, stream, lane, producer }, envelopes.pack(undefined, commit)))
    }
    if (payloads.count > 0 && rawTo !== undefined) {
      blocks.push(blockAppend({ partition, stream: rawTo, lane, producer }, payloads.pack(undefined, commit)))
    }
    if (outcomesTo !== undefined && outcomes.size > 0) {
      blocks.push(blockAppend({ partition, stream: outcomesTo, lane, producer }, packOutcomes([[commit, outcomes]])))
    }
    return blocks
  }
}

/** Rejects when the attempt fails, and at the deadline. */
async function inTime(attempt: () => Promise<void>, deadlineMs: number): Promise<void> {
  const leftMs = deadlineMs - performance.now()
  // A commit that waited too long for an earlier one is not sent at all.
  if (leftMs <= 0) throw new Error('an earlier commit took all the time')
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), leftMs)
  })
  try {
    await Promise.race([late, attempt()])
  } finally {
    clearTimeout(timer)
  }
}
