import { BackpressureError, UnavailableError } from '../../run/errors.ts'
import type { Service } from '../../run/service.ts'
import { withResolvers } from '../../run/with-resolvers.ts'
import type { Intake } from '../declaration/source.ts'
import { type Envelope, partitionOf } from '../event/envelope.ts'
import { countOutcome, NO_OUTCOMES, type OutcomeCounts } from '../event/outcomes.ts'
import { CommitWriter, type CommitWriterOptions } from './commit-writer.ts'
import { type Appended, emptyCommit, emptyPart, type Pending, sizeOf, type Waiters } from './pending-commit.ts'

export interface GroupCommitOptions extends CommitWriterOptions {
  readonly partitions: number
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
  /** Called for each append that is in Redis. @param counts of its events that are no envelopes */
  readonly onAppended?: (envelopes: number, counts: OutcomeCounts) => void
}

/**
 * Large commits that may wait for the disk at once. Small ones wait alone: those who sent them come again together, and what a
 * commit costs beside its events is shared by more of them.
 */
const COMMITS_MAX = 3
/** Requests of a commit from which on they are waited for to come again. */
const TOGETHER_MIN = 4
/** Events a partition from which on a block is large enough without them. */
const LARGE_BLOCK_EVENTS = 64
/** How long they are waited for, in lingers, and at most, whatever the linger: the time to write runs meanwhile. */
const RETURN_LINGERS = 2
const RETURN_MS_MAX = 20

/** For partitions that a call leaves out. */
const NOTHING = emptyPart()

/**
 * Gathers the envelopes of all requests that arrive while the last commit is on its way to Redis, and writes them as one block
 * per partition. Requests are answered when their commit is on disk (see `persisted`).
 *
 * On a Redis Cluster one partition may take its part and another one not. What is left of a request that was refused must
 * not count twice when the caller repeats it. Events with an id of the caller's do not: the repeat meets them. Those whose
 * id was made have another one then, so they are written last, when all others are there, and those of a request in one
 * call, together with its counts: `EventContext.gatherAmong` puts them into one partition.
 */
export class GroupCommit implements Intake, Service {
  readonly name = 'group commit'
  readonly #options: GroupCommitOptions
  /** Those that have nothing on its way. */
  readonly #writers: CommitWriter[]
  /** Few. A set that is added to and taken from without end may make V8 keep all that was in it (src/http/engine/README.md, Traps). */
  readonly #onTheirWay: Promise<void>[] = []
  #waiting = 0
  #current: Pending
  #closed: Pending[] = []
  #running: Promise<void> | undefined
  /** The next commit waits for so many requests; undefined: it waits for the one that is on its way, if any. */
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
      if (commit === undefined) {
        if (this.#onTheirWay.length === 0) break
        await Promise.race([...this.#onTheirWay, this.#full()])
        continue
      }
      const { taken, answered } = this.#send(commit)
      await taken
      if (!this.#isFlow(commit)) {
        if (this.#writers.length === 0) await Promise.race(this.#onTheirWay)
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

  /** `taken` resolves when Redis has it, or is not tried any more, `answered` behind the requests. */
  #send(commit: Pending): { readonly taken: Promise<void>; readonly answered: Promise<void> } {
    const writer = this.#writers.pop()!
    let answered: Promise<void>
    const taken = new Promise<void>((resolve) => {
      answered = this.#write(commit, writer, resolve).then(() => {
        this.#waiting -= commit.count
        this.#writers.push(writer)
        this.#onTheirWay.splice(this.#onTheirWay.indexOf(answered), 1)
        resolve()
      })
      this.#onTheirWay.push(answered)
    })
    return { taken, answered: answered! }
  }

  /**
   * Whether those who were answered are to be waited for: what a block costs, here, in Redis and in the worker, is shared by all
   * of its events, and without a wait they and those that wait already take turns for ever, in blocks of half the size.
   */
  #isFlow({ requests, count }: Pending): boolean {
    const { partitions, lingerMs } = this.#options
    if (lingerMs === 0 || this.#closed.length > 0) return false
    return requests >= TOGETHER_MIN && count < LARGE_BLOCK_EVENTS * partitions
  }

  /** Resolves when a block is full; never, when it is not asked any more. */
  #full(): Promise<void> {
    return new Promise((end) => {
      this.#awaited = { requests: Number.POSITIVE_INFINITY, end }
    })
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
