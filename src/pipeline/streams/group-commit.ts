import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { BackpressureError, UnavailableError } from '../../run/errors.ts'
import { type DelayBounds, retry } from '../../run/loop.ts'
import type { Service } from '../../run/service.ts'
import { type Resolvers, withResolvers } from '../../run/with-resolvers.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { lossesOf } from '../../stores/redis/connection-losses.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { replicasNeededBy } from '../../stores/redis/durability/replicated.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { Lane } from '../declaration/lane.ts'
import type { Intake } from '../declaration/source.ts'
import { BlockPacker } from '../event/block.ts'
import { type Envelope, partitionOf } from '../event/envelope.ts'
import { countOutcome, NO_OUTCOMES, type OutcomeCounts, packOutcomes } from '../event/outcomes.ts'
import { appendBlocks, type BlockAppend, blockAppend } from './append.ts'

interface GroupCommitOptions extends CommitWriterOptions {
  readonly partitions: number
  /** How long a commit gathers requests while none is in flight, milliseconds. */
  readonly lingerMs: number
  /** How long Redis may refuse a commit, or be down, before its requests fail, milliseconds. */
  readonly deadlineMs: number
  /** A block is closed at this many events, or bytes of rows. */
  readonly blockEventsMax: number
  readonly blockBytesMax: number
  /** Envelopes that may wait for Redis. Further ones are refused. */
  readonly waitingMax: number
  /** Why intake is closed for tenants with or without an archive; undefined while it is open. */
  readonly closedBecause: (archived: boolean) => string | undefined
  /** Called for each append that is in Redis. @param counts its events that are not envelopes */
  readonly onAppended?: (envelopes: number, counts: OutcomeCounts) => void
}

/** The events and counts of one request. */
interface Appended {
  readonly envelopes: number
  readonly counts: OutcomeCounts
}

/** Requests that are complete in Redis at the same time. They share one promise. */
interface Waiters {
  readonly written: Resolvers
  readonly appended: Appended[]
}

/** A commit that gathers requests. */
interface Pending {
  readonly byPartition: Part[]
  /** Written after all of `byPartition`, see `GroupCommit`. */
  readonly lastByPartition: Part[]
  readonly bytes: number[]
  /** By the partition of `lastByPartition` that completes the requests; -1: `byPartition` completes them. */
  readonly waiters: Map<number, Waiters>
  /** Number of requests of all `waiters`. */
  requests: number
  /** When the first envelopes came. */
  startedAtMs: number
  /** Events and counts. An event with envelope and payload counts once. */
  count: number
}

function emptyCommit(partitions: number): Pending {
  return {
    byPartition: Array.from({ length: partitions }, emptyPart),
    lastByPartition: Array.from({ length: partitions }, emptyPart),
    bytes: new Array<number>(partitions).fill(0),
    waiters: new Map(),
    requests: 0,
    startedAtMs: 0,
    count: 0,
  }
}

/** Large commits in flight at once. A small commit goes alone, so that the next one gathers more requests. */
const COMMITS_MAX = 3
/** After a commit of at least this many requests, waits for their clients to send the next ones. */
const TOGETHER_MIN = 4
/** Does not wait for them if the blocks have this many events per partition. */
const LARGE_BLOCK_EVENTS = 64
/** How long to wait for them: this many lingers, but no longer than this many milliseconds, because their deadline runs. */
const RETURN_LINGERS = 2
const RETURN_MS_MAX = 20

/** For partitions that a call leaves out. */
const NOTHING = emptyPart()

/**
 * Gathers the envelopes of all requests that arrive while the last commit is in flight, and writes them as one block per partition.
 * Answers requests when their commit is on disk (see `persisted`).
 *
 * On a Redis Cluster, one partition may accept its part of a commit and another may not. The request then fails, but some of its
 * events are stored, and must not count twice when the caller repeats it. Events with an id of the caller become duplicates of
 * themselves. Events without one get a new id at the repeat. So these are written last, after all others have succeeded, and those of
 * one request go into one partition (`EventContext.colocateAmong`), in one call with its counts.
 */
export class GroupCommit implements Intake, Service {
  readonly name = 'group commit'
  readonly #options: GroupCommitOptions
  /** Writers without a commit in flight. */
  readonly #writers: CommitWriter[]
  /** A short list. V8 may keep all former members of a long-lived set (src/http/engine/README.md, Traps). */
  readonly #inFlight: Promise<void>[] = []
  #waiting = 0
  #current: Pending
  #closed: Pending[] = []
  #running: Promise<void> | undefined
  /** Number of requests that the next commit waits for; undefined: it waits for the commit in flight, if any. */
  #awaited: { readonly requests: number; readonly end: () => void } | undefined
  #stopped = false

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#writers = Array.from({ length: COMMITS_MAX }, () => new CommitWriter(options))
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
    if (payloads.length > 0 && rawTo === undefined) return Promise.reject(new Error('no stream for payloads'))
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
    const gathered = Math.max(this.#gather('envelopes', envelopes), this.#gather('payloads', payloads))
    const lastPartition = outcomes.size > 0 ? this.#gatherOutcomes(outcomes, gathered) : gathered
    this.#current.count += count
    const { written } = this.#join(lastPartition, { envelopes: envelopes.length, counts })
    if (this.#current.requests === this.#awaited?.requests) this.#awaited.end()
    if (this.#isFull(this.#current)) this.#close()
    this.#running ??= this.#run()
    return written.promise
  }

  #join(lastPartition: number, appended: Appended): Waiters {
    const { waiters } = this.#current
    let joined = waiters.get(lastPartition)
    if (joined === undefined) {
      joined = { written: withResolvers(), appended: [] }
      waiters.set(lastPartition, joined)
    }
    joined.appended.push(appended)
    this.#current.requests++
    return joined
  }

  /** @returns the partition of the envelopes that are written last; -1: none are */
  #gather(kind: 'envelopes' | 'payloads', envelopes: readonly Envelope[]): number {
    const { partitions, cluster } = this.#options
    const { byPartition, lastByPartition, bytes } = this.#current
    let lastPartition = -1
    for (const envelope of envelopes) {
      const partition = partitionOf(envelope.identity, partitions)
      const isLast = cluster && envelope.isIdGenerated === true
      if (isLast) lastPartition = partition
      const parts = isLast ? lastByPartition : byPartition
      parts[partition]![kind].add(envelope.identity, envelope.state, envelope.row)
      bytes[partition]! += envelope.row.length
    }
    return lastPartition
  }

  /** On a cluster, counts are written last. @returns the partition that is written last, as `#gather` does */
  #gatherOutcomes(outcomes: OutcomeCounts, lastPartition: number): number {
    const { byPartition, lastByPartition } = this.#current
    const partition = Math.max(0, lastPartition)
    const part = (this.#options.cluster ? lastByPartition : byPartition)[partition]!
    for (const [key, events] of outcomes) countOutcome(part.outcomes, key, events)
    return this.#options.cluster ? partition : lastPartition
  }

  /** Checked after each request, so a block may exceed the limits by one request of up to 1 MB. */
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
      if (commit === undefined) {
        if (this.#inFlight.length === 0) break
        await Promise.race([...this.#inFlight, this.#full()])
        continue
      }
      const { taken, answered } = this.#send(commit)
      await taken
      if (!this.#expectsMore(commit)) {
        if (this.#writers.length === 0) await Promise.race(this.#inFlight)
        continue
      }
      await answered
      await this.#gatherFor(
        Math.min(RETURN_LINGERS * lingerMs, RETURN_MS_MAX),
        this.#current.requests + commit.requests,
      )
    }
    this.#running = undefined
  }

  /** `taken` resolves when Redis has the commit or the commit failed, `answered` after its requests are answered. */
  #send(commit: Pending): { readonly taken: Promise<void>; readonly answered: Promise<void> } {
    const writer = this.#writers.pop()!
    let answered: Promise<void>
    const taken = new Promise<void>((resolve) => {
      answered = this.#write(commit, writer, resolve).then(() => {
        this.#waiting -= commit.count
        this.#writers.push(writer)
        this.#inFlight.splice(this.#inFlight.indexOf(answered), 1)
        resolve()
      })
      this.#inFlight.push(answered)
    })
    return { taken, answered: answered! }
  }

  /**
   * Whether to wait for the next requests of the clients that were just answered. Without the wait, they and the clients that already
   * wait would take turns for ever, in blocks of half the size. A block has a fixed cost here, in Redis and in the worker.
   */
  #expectsMore({ requests, count }: Pending): boolean {
    const { partitions, lingerMs } = this.#options
    if (lingerMs === 0 || this.#closed.length > 0) return false
    return requests >= TOGETHER_MIN && count < LARGE_BLOCK_EVENTS * partitions
  }

  /** Resolves when a block is full. Never resolves once a later wait has replaced it. */
  #full(): Promise<void> {
    return new Promise((end) => {
      this.#awaited = { requests: Number.POSITIVE_INFINITY, end }
    })
  }

  /** Resolves after `ms`, or when this many requests have gathered, or a block is full. */
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

  async #write(
    { byPartition, lastByPartition, waiters, startedAtMs }: Pending,
    writer: CommitWriter,
    onTaken: () => void,
  ): Promise<void> {
    const deadlineMs = startedAtMs + this.#options.deadlineMs
    const settle = (lastPartition: number, failure: Error | undefined) => {
      const settled = waiters.get(lastPartition)
      if (settled === undefined) return
      if (failure !== undefined) {
        settled.written.reject(failure)
        return
      }
      for (const { envelopes, counts } of settled.appended) this.#options.onAppended?.(envelopes, counts)
      settled.written.resolve()
    }
    const failure = await writer.write(byPartition, deadlineMs, onTaken)
    settle(-1, failure)
    if (!this.#options.cluster) return
    await Promise.all(
      lastByPartition.map(async (part, partition) => {
        if (sizeOf(part) === 0) return
        const only = lastByPartition.map((_, i) => (i === partition ? part : NOTHING))
        settle(partition, failure ?? (await writer.write(only, deadlineMs)))
      }),
    )
  }
}

interface CommitWriterOptions {
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
interface Part {
  readonly envelopes: BlockPacker
  readonly payloads: BlockPacker
  readonly outcomes: Map<string, number>
}

function emptyPart(): Part {
  return { envelopes: new BlockPacker(), payloads: new BlockPacker(), outcomes: new Map() }
}

/** Number of events, plus counts. An event with envelope and payload counts once. */
function sizeOf({ envelopes, payloads, outcomes }: Part): number {
  return Math.max(envelopes.count, payloads.count) + outcomes.size
}

const RETRY_DELAY: DelayBounds = { minMs: 50, maxMs: 250 }
/** A producer that wrote nothing for this long has no commit in flight. */
const PRODUCER_TTL_MS = 3_600_000

/**
 * Writes commits under ascending numbers of its own. The script accepts a number only if it is higher than the last, so a commit whose
 * reply was lost can be sent again. For that, a writer has at most one commit in flight.
 */
class CommitWriter {
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
    const { client } = this.#options
    const attempt = async () => {
      const losses = replicasNeededBy(client) > 0 ? lossesOf(client) : undefined
      await Promise.all(calls.map((call) => call()))
      onTaken()
      await persisted(client, { isHot: true, losses })
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
  // Does not send a commit that waited too long for an earlier one.
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
