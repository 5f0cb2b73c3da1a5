import type { SourceFacts } from '../../../../schemas/api-key.ts'
import type { Clock } from '../../../run/clock.ts'
import { cutText } from '../../../run/cut-text.ts'
import { BackpressureError, UnavailableError } from '../../../run/errors.ts'
import { poll } from '../../../run/loop.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import type { BackgroundJobs, Upload } from '../../declaration/batch-jobs.ts'
import {
  type Cursor,
  PullDeniedError,
  type PullItem,
  type PullPlace,
  PullRefusedError,
} from '../../declaration/pull.ts'
import type { Proxies } from '../../event/client-address.ts'
import { AUTO, type EventLines, eventLines } from './event-lines.ts'
import type { PullIntent, RedisPullStore } from './redis/pull-store.ts'
import { PARTIALS_MAX, type PullState, problemAt } from './state.ts'

/** A source whose turn it is. */
export interface PulledSource {
  readonly id: string
  readonly tenantId: string
  readonly pull: NonNullable<SourceFacts['pull']>
}

interface TurnOptions {
  readonly source: PulledSource
  readonly state: PullState
  readonly place: PullPlace
  /** The tenant, read again before each job. Undefined: the source must not be pulled now. */
  readonly tenant: () => Promise<Tenant | undefined>
  readonly store: RedisPullStore
  readonly jobs: BackgroundJobs
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly isAsked: boolean
  /** `performance.now()` at which other sources have their turn. */
  readonly untilMs: number
  /** See `ReadLineOptions`. */
  readonly trusted?: Proxies | undefined
  readonly limits?: TurnLimits
}

/**
 * How a turn ended. `done`: everything is fetched. `more`: its time is over. `waits`: for the reason. `ended`: the source must not be
 * pulled now. `failed`: items could not be read, or the source not be listed.
 */
export type TurnEnd =
  | { readonly end: 'done' | 'more' | 'ended' }
  | { readonly end: 'waits'; readonly reason: string }
  | { readonly end: 'failed'; readonly error: Error; readonly isDenied: boolean }

export interface TurnLimits {
  /** An item of at most this many bytes of lines shares a job with others. Held in memory, so that an item that fails leaves nothing. */
  readonly heldBytesMax: number
  /** Bytes of a job. The last chunk may exceed it. */
  readonly jobBytesMax: number
  readonly jobLinesMax: number
  readonly jobItemsMax: number
  /** How long to wait until a job may begin, milliseconds. Then the turn ends, so that other sources have their turns. */
  readonly roomWaitMs: number
  /** The same in the middle of a large item, which has to be fetched again if the turn ends. */
  readonly partRoomWaitMs: number
}

/** A job has at most 1,000,000 lines and 100 MiB. */
const LIMITS: TurnLimits = {
  heldBytesMax: 4 * 2 ** 20,
  jobBytesMax: 64 * 2 ** 20,
  jobLinesMax: 500_000,
  jobItemsMax: 500,
  roomWaitMs: 10_000,
  partRoomWaitMs: 60_000,
}
const ROOM_EVERY_MS = 250
/** Length of `PullState.jobs`. */
const JOBS_MAX = 2
/** Characters of a job's file name. */
const NAME_CHARS_MAX = 200
/** Items that may fail in one run before it ends. */
const FAILURES_MAX = 10
/** Failed runs in a row at one item, after which it is refused so that it does not block the others. */
const STUCK_MAX = 8
/** With errors of a network or a server, they must also span this time, so that an outage loses no item. */
const OUTAGE_MS = 24 * 3_600_000

/** Lines for one job, and the state once the job exists. */
interface JobInProgress {
  readonly upload: Upload
  bytes: number
  lines: number
}

/**
 * Fetches the items of a source, one by one, into batch jobs: exactly once, even when a process is killed at any point.
 *
 * The lines of a job are spooled first. Then the intent is written: the id of the job, and the state after it. Then the job is created,
 * with a receipt that does not expire. Then the state is written, and intent and receipt are removed. After a crash the receipt says
 * whether the job of an intent exists: then the state is written; otherwise, once the upload is dead, its items are fetched again.
 */
export class PullTurn {
  readonly #options: TurnOptions
  readonly #limits: TurnLimits
  #state: PullState
  /** The state after the job in progress. */
  #next: PullState
  #marks: (readonly [string, number])[] = []
  #items = 0
  #job: JobInProgress | undefined
  /** Whether the job in progress has lines of one large item only, so that they can be undone alone. */
  #isOwnJob = false
  /** Stays true when a commit fails. Its job may exist then, so the turn must end. */
  #isCommitting = false
  #failure: Error | undefined
  #failures = 0
  #oldestFailureMs = Number.POSITIVE_INFINITY

  constructor(options: TurnOptions) {
    this.#options = options
    this.#limits = options.limits ?? LIMITS
    this.#state = options.state
    this.#next = options.state
  }

  /** The state in Redis. */
  get state(): PullState {
    return this.#state
  }

  async run(): Promise<TurnEnd> {
    try {
      return await this.#run()
    } catch (error) {
      await this.#abort()
      if (error instanceof TurnOverError) return error.end
      return { end: 'failed', error: error as Error, isDenied: error instanceof PullDeniedError }
    }
  }

  async #run(): Promise<TurnEnd> {
    const { source, place, store, signal, untilMs, isAsked } = this.#options
    await this.#resolveIntent()
    let roomWaitMs = 0
    const items = place.items({
      cursor: this.#state.cursor,
      signal,
      isAsked,
      stuckAt: this.#state.stuck?.name,
      oldestFailureMs: () => this.#oldestFailureMs,
      haveMarks: (names) => store.haveMarks(source.id, names),
      countMarks: () => store.countMarks(source.id),
      dropMarks: (ms) => store.dropMarks(source.id, ms),
    })
    try {
      for (;;) {
        // An item that is fetched while no job may begin would have to be fetched again.
        if (this.#job === undefined) await this.#awaitRoom(roomWaitMs)
        roomWaitMs = this.#limits.roomWaitMs
        const { done, value } = await items.next()
        signal.throwIfAborted()
        if (done) {
          await this.#commit(value)
          break
        }
        await this.#take(value)
        if (performance.now() < untilMs) continue
        await this.#commit()
        return { end: 'more' }
      }
    } catch (error) {
      // Keeps the items that were read whole. Otherwise a source that often fails would make no progress.
      if (!isOver(error) && !this.#isCommitting && !signal.aborted) await this.#commit()
      throw error
    } finally {
      await items.return(this.#state.cursor)
    }
    return this.#failure === undefined ? { end: 'done' } : { end: 'failed', error: this.#failure, isDenied: false }
  }

  /** Finds out whether an earlier turn created its job. */
  async #resolveIntent(): Promise<void> {
    const { source, store } = this.#options
    const intent = await store.intent(source.id)
    if (intent === undefined) {
      // A crash may have left the receipts of recorded jobs.
      await store.removeReceipts(this.#state.jobs)
      return
    }
    const fate = await store.fateOf(intent.job)
    if (fate === 'unknown')
      throw new TurnOverError({ end: 'waits', reason: 'an interrupted upload ends within seconds' })
    if (fate === 'created') {
      await this.#conclude(intent)
    } else {
      await store.dropIntent(source.id)
    }
  }

  async #conclude(intent: PullIntent): Promise<void> {
    const { source, store } = this.#options
    await store.noteJob(source.id, intent)
    // Before the intent is deleted: without it, an earlier state would be stored in place of this one.
    this.#state = intent.state
    this.#next = intent.state
    await store.endIntent(source.id, intent)
  }

  /** Waits until a job may begin; called while none is in progress. */
  async #awaitRoom(waitMs: number): Promise<void> {
    const { jobs, signal } = this.#options
    const { id, archive } = await this.#tenant()
    let reason: string | undefined
    const look = async () => {
      reason = await jobs.fullBecause(id, archive)
      return reason === undefined ? true : undefined
    }
    const hasRoom = await poll(look, { everyMs: ROOM_EVERY_MS, deadlineMs: performance.now() + waitMs, signal })
    signal.throwIfAborted()
    if (hasRoom) return
    // The items so far have no lines, so they need no job.
    if (this.#items > 0) await this.#commit()
    throw new TurnOverError({ end: 'waits', reason: reason! })
  }

  async #take(item: PullItem): Promise<void> {
    try {
      await this.#read(item)
    } catch (error) {
      if (this.#isCommitting) throw error
      if (this.#isOwnJob) await this.#abort()
      const reason = this.#refusalOf(item, error as Error)
      if (reason !== undefined) {
        await this.#refuse(item, reason)
        return
      }
      if (this.#isFinal(error)) throw error
      const failure = named(item, error as Error)
      if (!item.canWait) throw failure
      this.#failure ??= failure
      this.#oldestFailureMs = Math.min(this.#oldestFailureMs, item.atMs)
      if (++this.#failures >= FAILURES_MAX) throw this.#failure
    }
  }

  /** Undefined: the item may be readable later. */
  #refusalOf(item: PullItem, error: Error): string | undefined {
    if (error instanceof PullRefusedError && item.isMadeAnew !== true) return error.message
    if (this.#isFinal(error) || item.canWait) return undefined
    const nowMs = this.#options.clock.now()
    const { stuck: before } = this.#state
    const { failures, sinceMs = nowMs } = before?.name === item.name ? before : { failures: 0 }
    const stuck = { name: item.name, failures: failures + 1, sinceMs }
    const isLasting = !(error instanceof UnavailableError) || nowMs - sinceMs >= OUTAGE_MS
    if (isLasting && stuck.failures >= STUCK_MAX) return `${stuck.failures} runs failed at it: ${error.message}`
    this.#state = { ...this.#state, stuck }
    this.#next = { ...this.#next, stuck }
    return undefined
  }

  /** Whether an error ends the turn for any item. */
  #isFinal(error: unknown): boolean {
    return error instanceof PullDeniedError || isOver(error) || this.#options.signal.aborted
  }

  /** Reads an item into the job in progress, or a large one into jobs of its own. */
  async #read(item: PullItem): Promise<void> {
    const { source, signal, trusted } = this.#options
    const files = await item.open(signal)
    if (files === undefined) {
      this.#pass(item)
      return
    }
    const skip = this.#state.partials.find(({ id }) => id === item.id)?.lines ?? 0
    const format = source.pull.settings.format ?? AUTO
    let held: EventLines[] = []
    let heldBytes = 0
    for await (const lines of eventLines(files, { id: item.id, format, atMs: item.atMs, skip, trusted })) {
      signal.throwIfAborted()
      held.push(lines)
      heldBytes += lines.bytes.length
      if (!this.#isOwnJob) {
        if (heldBytes <= this.#limits.heldBytesMax && skip === 0) continue
        await this.#commit()
        this.#isOwnJob = true
      }
      for (const piece of held) await this.#writePart(item, piece)
      held = []
    }
    for (const lines of held) await this.#write(item, lines)
    this.#pass(item, { objects: 1 })
    const { bytes = 0, lines = 0 } = this.#job ?? {}
    const isFull =
      bytes >= this.#limits.jobBytesMax / 2 ||
      lines >= this.#limits.jobLinesMax ||
      this.#items >= this.#limits.jobItemsMax
    if (isFull || this.#isOwnJob) await this.#commit()
    this.#isOwnJob = false
  }

  async #writePart(item: PullItem, piece: EventLines): Promise<void> {
    await this.#write(item, piece)
    const { bytes, lines } = this.#job!
    if (bytes < this.#limits.jobBytesMax && lines < this.#limits.jobLinesMax) return
    const partials = [...othersOf(this.#next, item), { id: item.id, lines: piece.read }].slice(-PARTIALS_MAX)
    this.#next = { ...this.#next, partials }
    await this.#commit()
  }

  /** @throws TurnOverError, so that a failure of our own store does not count against the item */
  async #write(item: PullItem, lines: EventLines): Promise<void> {
    try {
      await this.#writeLines(item, lines)
    } catch (error) {
      if (isOver(error)) throw error
      const isFull = error instanceof BackpressureError
      throw new TurnOverError(
        isFull ? { end: 'waits', reason: error.message } : { end: 'failed', error: error as Error, isDenied: false },
      )
    }
  }

  async #writeLines(item: PullItem, { bytes, lines, rejected, noPage }: EventLines): Promise<void> {
    this.#job ??= await this.#begin(item)
    this.#job.bytes += bytes.length
    this.#job.lines += lines
    const { counts } = this.#next
    this.#next = {
      ...this.#next,
      counts: { ...counts, lines: counts.lines + lines - noPage, rejected: counts.rejected + rejected },
    }
    await this.#job.upload.write(bytes)
  }

  async #begin(item: PullItem): Promise<JobInProgress> {
    const { source, jobs } = this.#options
    const { roomWaitMs, partRoomWaitMs } = this.#limits
    await this.#awaitRoom(this.#isOwnJob ? partRoomWaitMs : roomWaitMs)
    const { id, archive, addresses } = await this.#tenant()
    const facts = {
      sourceId: source.id,
      name: cutText(`${source.id}: ${item.name}`, NAME_CHARS_MAX),
      leavesReceipt: true,
      leavesRoom: true,
    }
    return { upload: await jobs.begin(id, archive, addresses, facts), bytes: 0, lines: 0 }
  }

  async #tenant(): Promise<Tenant> {
    const tenant = await this.#options.tenant()
    if (tenant === undefined) throw new TurnOverError({ end: 'ended' })
    return tenant
  }

  /** The item is done once the job in progress exists. */
  #pass(item: PullItem, { objects = 0, refused = 0 } = {}): void {
    const { counts } = this.#next
    this.#items++
    this.#next = {
      ...this.#next,
      cursor: item.cursor,
      counts: { ...counts, objects: counts.objects + objects, refused: counts.refused + refused },
      partials: othersOf(this.#next, item),
      stuck: this.#next.stuck?.name === item.name ? undefined : this.#next.stuck,
    }
    if (item.mark !== undefined) this.#marks.push([item.mark, item.atMs])
  }

  /** Lines of a large item that are in earlier jobs stay. */
  async #refuse(item: PullItem, reason: string): Promise<void> {
    this.#pass(item, { refused: 1 })
    const refusal = problemAt(`${item.name}: ${reason}`, this.#options.clock.now())
    this.#next = { ...this.#next, refusal }
    if (this.#job === undefined) await this.#commit()
  }

  /**
   * Creates the job in progress, if there is one, and stores the state after it.
   * @param cursor in place of that of the last item
   */
  async #commit(cursor: Cursor = this.#next.cursor): Promise<void> {
    const { source, store } = this.#options
    const marks = this.#marks
    const job = this.#job
    this.#isCommitting = true
    const next: PullState = { ...this.#next, cursor }
    if (job === undefined) {
      await store.addMarks(source.id, marks)
      await store.writeState(source.id, next)
      this.#state = next
      this.#next = next
    } else {
      const { jobId } = job.upload
      const state = { ...next, jobs: [...next.jobs, jobId].slice(-JOBS_MAX) }
      const intent: PullIntent = { job: jobId, state, marks }
      await this.#tenant()
      await store.writeIntent(source.id, intent)
      await job.upload.complete()
      await this.#conclude(intent)
    }
    this.#isCommitting = false
    this.#job = undefined
    this.#marks = []
    this.#items = 0
  }

  /** Drops the job in progress and its items. */
  async #abort(): Promise<void> {
    const job = this.#job
    this.#job = undefined
    this.#isOwnJob = false
    this.#marks = []
    this.#items = 0
    this.#next = this.#state
    await job?.upload.abort().catch(() => {})
  }
}

/** Ends a turn early. */
class TurnOverError extends Error {
  override name = 'TurnOverError'
  readonly end: TurnEnd

  constructor(end: TurnEnd) {
    super('the turn is over')
    this.end = end
  }
}

/** Large items in progress other than this one. */
function othersOf({ partials }: PullState, { id }: PullItem): PullState['partials'] {
  return partials.filter((partial) => partial.id !== id)
}

function isOver(error: unknown): boolean {
  return error instanceof TurnOverError
}

function named({ name }: PullItem, { message }: Error): Error {
  return new Error(`${name}: ${message}`)
}
