import { randomBytes } from 'node:crypto'
import { entryOfJobs, type Pipeline } from '../../../pipeline/declaration/pipeline.ts'
import { packBlock } from '../../../pipeline/event/block.ts'
import { packOutcomes } from '../../../pipeline/event/outcomes.ts'
import { appendBlocks, type BlockAppend, blockAppend } from '../../../pipeline/streams/append.ts'
import { untilPassed } from '../../../pipeline/streams/barrier.ts'
import { claimIdOfNoEntry } from '../../../pipeline/streams/entries.ts'
import { byPartition, forgetClaims, seedClaims } from '../../../pipeline/streams/seen-claims.ts'
import { partitionsOf, partitionsSince } from '../../../pipeline/streams/topology.ts'
import { LeaseLostError, StartupError, UnavailableError } from '../../../run/errors.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { persisted } from '../../../stores/redis/durability/persisted.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { DeadLetters, eventOf } from '../../dead-letters/dead-letters.ts'
import {
  eventKey,
  type FedUnit,
  KEPT,
  type ReplayClaim,
  type ReplayLane,
  type ReplayPosition,
  UNFILTERED,
} from '../ports.ts'

/** A replay that wrote nothing for this long is over. */
const PRODUCER_TTL_MS = 3_600_000
/** How long Redis keeps the position after the last round. */
const POSITION_TTL_S = 86_400
const CALLS_AT_ONCE = 200
const LANE = 'batch'

interface ReplayLaneOptions {
  /** How long `untilStored` waits. */
  readonly waitMs: number
  /** How much longer `untilArchived` waits: the age at which parts are closed. Default: 0. */
  readonly partAgeMs?: number
  /** @throws LeaseLostError when another replay may have started */
  readonly assertHeld: () => void
}

/** Feeds the batch lane of a pipeline in Redis. */
export class RedisReplayLane implements ReplayLane {
  readonly partitions: number
  readonly partitionsSinceMs: number
  readonly #client: RedisClient
  readonly #pipeline: Pipeline
  readonly #assertHeld: () => void
  readonly #waitMs: number
  readonly #partAgeMs: number
  readonly #producer = randomBytes(8).toString('hex')
  #sequence = 0

  private constructor(
    client: RedisClient,
    pipeline: Pipeline,
    { partitions, sinceMs }: { readonly partitions: number; readonly sinceMs: number },
    options: ReplayLaneOptions,
  ) {
    this.#client = client
    this.#pipeline = pipeline
    this.partitions = partitions
    this.partitionsSinceMs = sinceMs
    this.#waitMs = options.waitMs
    this.#partAgeMs = options.partAgeMs ?? 0
    this.#assertHeld = options.assertHeld
  }

  /** @throws StartupError when no ipid has run on this Redis */
  static async open(client: RedisClient, pipeline: Pipeline, options: ReplayLaneOptions): Promise<RedisReplayLane> {
    const partitions = await partitionsOf(client)
    if (partitions === 0) throw new StartupError('there is nothing to replay into: no ipid has run on this Redis')
    const sinceMs = await partitionsSince(client)
    return new RedisReplayLane(client, pipeline, { partitions, sinceMs }, options)
  }

  async untilStored(rowsOnly = false): Promise<void> {
    // The archive does not write to the tables.
    await this.#untilPassed((sink) => sink.takes !== 'payloads' && (!rowsOnly || sink.completesJobs === true), 0)
  }

  async untilArchived(): Promise<void> {
    await this.#untilPassed((sink) => sink.takes === 'payloads', this.#partAgeMs)
  }

  async #untilPassed(of: (sink: Pipeline['sinks'][number]) => boolean, longerMs: number): Promise<void> {
    const pipeline = { ...this.#pipeline, sinks: this.#pipeline.sinks.filter(of) }
    const deadlineMs = performance.now() + this.#waitMs + longerMs
    await orRetryLater(() => untilPassed(this.#client, pipeline, this.partitions, deadlineMs))
  }

  now(): Promise<number> {
    return orRetryLater(async () => {
      const [seconds, micros] = (await this.#client.time()).map(Number)
      return seconds! * 1_000 + Math.floor(micros! / 1_000)
    })
  }

  letters(tenantId: string): Promise<ReadonlySet<string>> {
    return orRetryLater(async () => {
      const found = new Set<string>()
      const all = new DeadLetters(this.#client, this.#pipeline, this.partitions)
      for await (const letter of all.letters({ tenantId }, 'oldest first')) {
        const { event_id: eventId = '', received_at: receivedAt = '' } = eventOf(letter)
        found.add(eventKey(eventId, Date.parse(receivedAt)))
      }
      return found
    })
  }

  release(claims: readonly ReplayClaim[], beforeMs: number): Promise<void> {
    const { dedupWindowMs } = this.#pipeline.limits
    return this.#held(async () => {
      const here = claims.map(({ partition, identity }) => ({ partition: this.#carrierOf(partition), identity }))
      for (const [partition, identities] of byPartition(here)) {
        await forgetClaims(this.#client, { partition, identities, beforeMs }, dedupWindowMs)
      }
    })
  }

  claim(claims: readonly ReplayClaim[]): Promise<void> {
    return this.#held(async () => {
      const claimId = claimIdOfNoEntry(await this.now())
      const seeds = claims.map(({ partition, identity }) => ({
        partition: this.#carrierOf(partition),
        identity: Buffer.from(identity, 'latin1'),
        claimId,
      }))
      await seedClaims(this.#client, seeds, this.#pipeline.limits.dedupWindowMs)
    })
  }

  /** Each unit is one atomic call: Redis takes its events and their corrections, or neither. */
  async feed(units: readonly FedUnit[]): Promise<void> {
    for (let at = 0; at < units.length; at += CALLS_AT_ONCE) {
      await this.#held(async () => {
        const calls = units.slice(at, at + CALLS_AT_ONCE).map((unit) => this.#append(unit))
        const failed = (await Promise.allSettled(calls)).find((result) => result.status === 'rejected')
        if (failed !== undefined) throw failed.reason
        // On a cluster another Redis may keep the position that covers them.
        await persisted(this.#client)
      })
    }
  }

  async position(tenantId: string): Promise<ReplayPosition | undefined> {
    const text = await orRetryLater(() => this.#client.get(keys.replay(tenantId)))
    return text === null ? undefined : (JSON.parse(text) as ReplayPosition)
  }

  async keepPosition(tenantId: string, position: ReplayPosition | undefined): Promise<void> {
    await this.#held(async () => {
      if (position === undefined) await this.#client.del(keys.replay(tenantId))
      else await this.#client.set(keys.replay(tenantId), JSON.stringify(position), 'EX', POSITION_TTL_S)
    })
  }

  /** The partition that carries the events of this one. They differ after a restore with fewer partitions. */
  #carrierOf(partition: number): number {
    return partition % this.partitions
  }

  async #append({ partition, commit, job, envelopes, outcomes, kept, unfiltered }: FedUnit): Promise<void> {
    const { outcomes: outcomesTo } = this.#pipeline
    const { to } = entryOfJobs(this.#pipeline)
    const sequence = ++this.#sequence
    const carrier = this.#carrierOf(partition)
    const blocks: BlockAppend[] = []
    if (envelopes.length > 0) {
      // Counts must name the original partition, because a replay compares them with the archive.
      const brought = carrier === partition ? commit : `${commit}/of:${partition}:`
      const block = { ...packBlock(envelopes, job, brought), ...(job !== undefined && { jobCounted: true }) }
      const producer = keys.producer(carrier, this.#producer)
      blocks.push(blockAppend({ partition: carrier, stream: to, lane: LANE, producer }, block))
    }
    if (outcomesTo !== undefined && outcomes.size + kept.size + unfiltered.size > 0) {
      const source = (what: string) => `${commit}/${what}:${partition}:${LANE}:${this.#producer}-${sequence}`
      const counts = packOutcomes([
        [source('replay'), outcomes],
        [source(KEPT), kept],
        [source(UNFILTERED), unfiltered],
      ])
      const producer = keys.producer(carrier, this.#producer, outcomesTo)
      blocks.push(blockAppend({ partition: carrier, stream: outcomesTo, lane: LANE, producer }, counts))
    }
    if (blocks.length === 0) return
    const added = await appendBlocks(this.#client, blocks, { sequence, producerTtlMs: PRODUCER_TTL_MS })
    // Redis ignores a call that arrives after a later one. This happens when it had to load the script first.
    if (added !== blocks.length) throw new UnavailableError('Redis did not take the events in their order')
  }

  #held<T>(work: () => Promise<T>): Promise<T> {
    this.#assertHeld()
    return orRetryLater(work)
  }
}

/** Any failure of Redis may be temporary. */
async function orRetryLater<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UnavailableError || error instanceof LeaseLostError) throw error
    throw new UnavailableError(`Redis did not answer: ${(error as Error).message}`, { cause: error })
  }
}
