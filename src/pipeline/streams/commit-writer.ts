import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { UnavailableError } from '../../run/errors.ts'
import { type DelayBounds, retry } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { Lane } from '../declaration/lane.ts'
import { type OutcomeCounts, packOutcomes } from '../event/outcomes.ts'
import { appendBlocks, type BlockAppend, blockAppend } from './append.ts'
import { type Part, sizeOf } from './pending-commit.ts'

export interface CommitWriterOptions {
  /** A connection of kind `request`, used by nothing else: commits go out in order on it. */
  readonly client: RedisClient
  readonly stream: string
  /** The stream that takes what is counted of events that are not stored; undefined: nothing does. */
  readonly outcomesTo: string | undefined
  /** The stream that takes payloads for the archive; undefined: nothing does. */
  readonly rawTo: string | undefined
  readonly lane: Lane
  /** A Redis Cluster takes one call per partition; else a commit is one call. See `GroupCommit`. */
  readonly cluster: boolean
  readonly log: Logger
  /** Called with what is counted when it is in Redis. */
  readonly onOutcomes?: (counts: OutcomeCounts) => void
}

const RETRY_DELAY: DelayBounds = { minMs: 50, maxMs: 250 }
/** A producer that wrote nothing for this long has no commit on its way any more. */
const PRODUCER_TTL_MS = 3_600_000

/**
 * Writes commits under numbers of its own. The script takes each number once, and none below the last, so a commit may be sent
 * again when its reply was lost; therefore a writer has one at a time in a partition.
 */
export class CommitWriter {
  readonly #options: CommitWriterOptions
  readonly #producer = randomBytes(8).toString('hex')
  #sequence = 0

  constructor(options: CommitWriterOptions) {
    this.#options = options
  }

  /**
   * Tries until each block is on disk. Returns the failure when that takes too long.
   * @param onTaken called when Redis has them; again when they had to be sent again
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
        'a commit is not in Redis and on its disk in time; its requests are refused',
      )
      return new UnavailableError('the event store did not answer in time', { cause: failure })
    }
  }

  /** The calls that write blocks, each safe to repeat. */
  #calls(byPartition: readonly Part[]): (() => Promise<unknown>)[] {
    const { client, cluster } = this.#options
    const sequence = this.#sequence + 1
    const commit = `${this.#producer}:${sequence}`
    // What goes out in one call is there or not there as one, so one producer tells.
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

/** Rejects when it fails, and when the deadline passes. */
async function inTime(attempt: () => Promise<void>, deadlineMs: number): Promise<void> {
  const leftMs = deadlineMs - performance.now()
  // What waited too long behind another commit is not sent at all.
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
