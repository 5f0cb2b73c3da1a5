import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { type Envelope, partitionOf } from '../../core/event/envelope.ts'
import { countOutcome, NO_OUTCOMES, type OutcomeCounts, packOutcomes } from '../../core/event/outcomes.ts'
import type { Lane } from '../../core/pipeline/lane.ts'
import { BackpressureError, UnavailableError } from '../../core/run/errors.ts'
import type { Service } from '../../core/run/service.ts'
import type { Intake } from '../../ingest/intake.ts'
import { type DelayBounds, retry } from '../../runner/loop.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { loadScript, type ScriptArgument } from '../scripts.ts'
import { type AppendCall, appendCall } from './append.ts'
import { emptyCommit, emptyPart, type Part, type Pending, sizeOf } from './pending-commit.ts'

export interface GroupCommitOptions {
  /** A connection of kind `request`, used by nothing else: commits go out in order on it. */
  readonly client: RedisClient
  readonly partitions: number
  readonly stream: string
  /** The stream that takes what is counted of events that are not stored; undefined: nothing does. */
  readonly outcomesTo: string | undefined
  /** The stream that takes payloads for the archive; undefined: nothing does. */
  readonly rawTo: string | undefined
  readonly lane: Lane
  /** A Redis Cluster takes one call per partition; else a commit is one call. See `GroupCommit`. */
  readonly cluster: boolean
  /** How long a commit gathers while none is on its way, milliseconds. */
  readonly lingerMs: number
  /** How long Redis may refuse a commit, or be away, before its requests are answered with an error. */
  readonly deadlineMs: number
  /** A block is closed when it has so many events, or so many bytes of rows. */
  readonly blockEventsMax: number
  readonly blockBytesMax: number
  /** Envelopes that may wait for Redis; more are refused. */
  readonly waitingMax: number
  /** Why intake is closed for a tenant, with an archive or without one; undefined while it is open. */
  readonly closedBecause: (archived: boolean) => string | undefined
  readonly log: Logger
  /** Called for each append that is in Redis. @param counts of its events that are no envelopes */
  readonly onAppended?: (envelopes: number, counts: OutcomeCounts) => void
  /** Called with what is counted when it is in Redis. */
  readonly onOutcomes?: (counts: OutcomeCounts) => void
}

const RETRY_DELAY: DelayBounds = { minMs: 50, maxMs: 250 }
/** Requests of a commit from which on they are waited for to come again. */
const TOGETHER_MIN = 4
/** Events a partition from which on a block is large enough without them. */
const LARGE_BLOCK_EVENTS = 64
/** How long they are waited for, in lingers, and at most, whatever the linger: the time to write runs meanwhile. */
const RETURN_LINGERS = 2
const RETURN_MS_MAX = 20
/** A producer that wrote nothing for this long has no commit on its way any more. */
const PRODUCER_TTL_MS = 3_600_000

/** For partitions that a call leaves out. */
const NOTHING = emptyPart()

const appendScript = loadScript('append-N')

/**
 * Gathers the envelopes of all requests that arrive while the last commit is on its way, and writes them as one block per
 * partition. A commit is numbered, and the script takes each number once, so it is safe to send it again when its reply
 * was lost.
 *
 * On a Redis Cluster one partition may take its part and another one not. What is left of a request that was refused must
 * not count twice when the caller repeats it. Events with an id of the caller's do not: the repeat meets them. Those whose
 * id was made have another one then, so they are written last, when all others are there, and those of a request in one
 * call, together with its counts: `Receipt.gatherAmong` puts them into one partition.
 */
export class GroupCommit implements Intake, Service {
  readonly name = 'group commit'
  readonly #options: GroupCommitOptions
  readonly #producer = randomBytes(8).toString('hex')
  #sequence = 0
  #waiting = 0
  #current: Pending
  #closed: Pending[] = []
  #running: Promise<void> | undefined
  /** The next commit waits for so many requests; undefined: it waits for the one that is on its way, if any. */
  #awaited: { readonly requests: number; readonly end: () => void } | undefined
  #stopped = false

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#current = emptyCommit(options.partitions)
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopped = true
    while (this.#running !== undefined) await this.#running
  }

  append(
    envelopes: readonly Envelope[],
    payloads: readonly Envelope[] = [],
    counts: OutcomeCounts = NO_OUTCOMES,
  ): Promise<void> {
    const { closedBecause, waitingMax, rawTo, outcomesTo } = this.#options
    if (payloads.length > 0 && rawTo === undefined) return Promise.reject(new Error('nothing takes payloads'))
    const outcomes = outcomesTo === undefined ? NO_OUTCOMES : counts
    const count = Math.max(envelopes.length, payloads.length) + outcomes.size
    if (count === 0) {
      this.#options.onAppended?.(0, counts)
      return Promise.resolve()
    }
    const reason =
      this.#waiting + count > waitingMax ? 'too many events wait for Redis' : closedBecause(payloads.length > 0)
    if (reason !== undefined) return Promise.reject(new BackpressureError(reason))
    if (this.#stopped) return Promise.reject(new UnavailableError('shutting down'))
    this.#waiting += count
    if (this.#current.count === 0) this.#current.startedAtMs = performance.now()
    const { waiters } = this.#current
    const gathered = Math.max(this.#gather('envelopes', envelopes), this.#gather('payloads', payloads))
    const lastPartition = outcomes.size > 0 ? this.#gatherOutcomes(outcomes, gathered) : gathered
    this.#current.count += count
    const written = new Promise<void>((resolve, reject) => {
      waiters.push({ lastPartition, envelopes: envelopes.length, counts, resolve, reject })
    })
    if (waiters.length === this.#awaited?.requests) this.#awaited.end()
    if (this.#isFull(this.#current)) this.#close()
    this.#running ??= this.#run()
    return written
  }

  /** Returns the partition of those that are written last; -1 when there are none. */
  #gather(kind: 'envelopes' | 'payloads', envelopes: readonly Envelope[]): number {
    const { partitions, cluster } = this.#options
    const { byPartition, lastByPartition, bytes } = this.#current
    let lastPartition = -1
    for (const envelope of envelopes) {
      const partition = partitionOf(envelope.identity, partitions)
      const isLast = cluster && envelope.idMade === true
      if (isLast) lastPartition = partition
      const parts = isLast ? lastByPartition : byPartition
      parts[partition]![kind].add(envelope.identity, envelope.state, envelope.row)
      bytes[partition]! += envelope.row.length
    }
    return lastPartition
  }

  /** Returns the partition that is written last, as `#gather`: on a cluster counts go with what is written last. */
  #gatherOutcomes(outcomes: OutcomeCounts, lastPartition: number): number {
    const { byPartition, lastByPartition } = this.#current
    const home = Math.max(0, lastPartition)
    const part = (this.#options.cluster ? lastByPartition : byPartition)[home]!
    for (const [key, events] of outcomes) countOutcome(part.outcomes, key, events)
    return this.#options.cluster ? home : lastPartition
  }

  /** The next request, of up to 1 MB, may still pass the limits: they say when a block is closed, not how large it is. */
  #isFull({ byPartition, lastByPartition, bytes }: Pending): boolean {
    const { blockEventsMax, blockBytesMax } = this.#options
    return bytes.some(
      (size, i) => sizeOf(byPartition[i]!) + sizeOf(lastByPartition[i]!) >= blockEventsMax || size >= blockBytesMax,
    )
  }

  #close(): void {
    this.#awaited?.end()
    this.#closed.push(this.#current)
    this.#current = emptyCommit(this.#options.partitions)
  }

  async #run(): Promise<void> {
    const { lingerMs } = this.#options
    await this.#gatherFor(lingerMs, Number.POSITIVE_INFINITY)
    for (;;) {
      if (this.#closed.length === 0 && this.#current.count > 0) this.#close()
      const commit = this.#closed.shift()
      if (commit === undefined) break
      await this.#write(commit)
      this.#waiting -= commit.count
      if (!this.#isFlow(commit)) continue
      await this.#gatherFor(
        Math.min(RETURN_LINGERS * lingerMs, RETURN_MS_MAX),
        this.#current.waiters.length + commit.waiters.length,
      )
    }
    this.#running = undefined
  }

  /**
   * Whether those who were answered are to be waited for: what a block costs, here, in Redis and in the worker, is shared by all
   * of its events, and without a wait they and those that wait already take turns for ever, in blocks of half the size.
   */
  #isFlow({ waiters, count }: Pending): boolean {
    const { partitions, lingerMs } = this.#options
    if (lingerMs === 0 || this.#closed.length > 0) return false
    return waiters.length >= TOGETHER_MIN && count < LARGE_BLOCK_EVENTS * partitions
  }

  /** Resolves when the time is over, or so many requests are gathered, or a block is full. */
  async #gatherFor(ms: number, requests: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      this.#awaited = { requests, end }
    })
    this.#awaited = undefined
  }

  async #write({ byPartition, lastByPartition, waiters, startedAtMs }: Pending): Promise<void> {
    const deadlineMs = startedAtMs + this.#options.deadlineMs
    const settle = (lastPartition: number, failure: Error | undefined) => {
      for (const waiter of waiters) {
        if (waiter.lastPartition !== lastPartition) continue
        if (failure === undefined) {
          this.#options.onAppended?.(waiter.envelopes, waiter.counts)
          waiter.resolve()
        } else waiter.reject(failure)
      }
    }
    const failure = await this.#writeBlocks(byPartition, deadlineMs)
    settle(-1, failure)
    if (!this.#options.cluster) return
    await Promise.all(
      lastByPartition.map(async (part, partition) => {
        if (sizeOf(part) === 0) return
        const only = lastByPartition.map((_, i) => (i === partition ? part : NOTHING))
        settle(partition, failure ?? (await this.#writeBlocks(only, deadlineMs)))
      }),
    )
  }

  /** Tries until each block is there. Returns the failure when that takes too long. */
  async #writeBlocks(byPartition: readonly Part[], deadlineMs: number): Promise<UnavailableError | undefined> {
    const calls = this.#calls(byPartition)
    if (calls.length === 0) return undefined
    try {
      await retry(() => allAnswered(calls, deadlineMs), { delay: RETRY_DELAY, deadlineMs })
      for (const { outcomes } of byPartition) if (outcomes.size > 0) this.#options.onOutcomes?.(outcomes)
      return undefined
    } catch (failure) {
      const events = byPartition.reduce((sum, part) => sum + sizeOf(part), 0)
      this.#options.log.error({ err: failure, events }, 'Redis did not take a commit; its requests are refused')
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
    const head: ScriptArgument[] = [sequence, PRODUCER_TTL_MS]
    if (cluster) return parts.map((part) => () => appendScript.run(client, part.keys, [...head, ...part.args]))
    const allKeys = parts.flatMap((part) => part.keys)
    const allArgs = [...head, ...parts.flatMap((part) => part.args)]
    return [() => appendScript.run(client, allKeys, allArgs)]
  }

  #part({ envelopes, payloads, outcomes }: Part, partition: number, commit: string, producer: string): AppendCall {
    const { stream, rawTo, outcomesTo, lane } = this.#options
    const calls: AppendCall[] = []
    if (envelopes.count > 0) {
      calls.push(appendCall({ partition, stream, lane, producer }, envelopes.pack(undefined, commit)))
    }
    if (payloads.count > 0 && rawTo !== undefined) {
      calls.push(appendCall({ partition, stream: rawTo, lane, producer }, payloads.pack(undefined, commit)))
    }
    if (outcomesTo !== undefined && outcomes.size > 0) {
      calls.push(appendCall({ partition, stream: outcomesTo, lane, producer }, packOutcomes([[commit, outcomes]])))
    }
    return { keys: calls.flatMap((call) => call.keys), args: calls.flatMap((call) => call.args) }
  }
}

/** Runs calls until all are answered. Rejects with the first failure, and when the deadline passes. */
async function allAnswered(calls: readonly (() => Promise<unknown>)[], deadlineMs: number): Promise<void> {
  const leftMs = deadlineMs - performance.now()
  // What waited too long behind another commit is not sent at all.
  if (leftMs <= 0) throw new Error('an earlier commit took all the time')
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), leftMs)
  })
  try {
    await Promise.race([late, Promise.all(calls.map((call) => call()))])
  } finally {
    clearTimeout(timer)
  }
}
