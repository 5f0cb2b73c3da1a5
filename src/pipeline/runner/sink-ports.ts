import type { EntryOfRows } from '../declaration/destination.ts'
import type { Lane } from '../declaration/lane.ts'

/** One stream that a sink reads: a lane of a partition. */
export interface SinkStream {
  readonly partition: number
  readonly lane: Lane
}

export interface SinkEntry extends EntryOfRows {
  /** The claim id, see `Delivery`. Dead letters carry it. */
  readonly claimId: Buffer
}

/** Consecutive entries of one stream. */
export interface SinkRun extends SinkStream {
  readonly entries: readonly SinkEntry[]
}

/** An insert that a sink is about to make, with everything needed to repeat it exactly. */
export interface SinkIntent {
  readonly token: string
  readonly ranges: readonly (SinkStream & { readonly first: string; readonly last: string; readonly entries: number })[]
  /** Some rows may be stored under another token. A repeat asks first, and inserts only absent rows. */
  readonly mayBeStored?: true
  /** Suffixes of the tokens of parts that are sent in smaller parts, because they were refused. */
  readonly divided?: readonly string[]
  /** The insert is complete, and these rows were refused. A repeat only acknowledges. */
  readonly refused?: readonly (SinkStream & { readonly id: string; readonly index: number; readonly reason: string })[]
}

/** The entries of an intent that are not acknowledged yet. */
export interface IntentRest {
  readonly runs: readonly SinkRun[]
  /** Some entries are acknowledged already, so the insert was complete. */
  readonly inserted: boolean
}

/** An event that the destination refuses. */
export interface RefusedEvent {
  readonly entry: SinkEntry
  /** Position in the entry's block. */
  readonly index: number
  readonly reason: string
  /** The reason in a few words, without data of the row; '' if an earlier process got the refusal. */
  readonly kind: string
}

/**
 * The streams that a sink reads, its lease and its intent. Only the holder of the lease may work: `writeIntent`, `clearIntent`,
 * `readPending` and `readNew` throw `LeaseLostError` when another process may hold it. Every method may reject with a passing
 * error; no entry is lost by that.
 */
export interface SinkSource {
  /**
   * Waits for the lease. Resolves with false when `signal` ended the wait.
   * @param finish finishes the intent of a source that was left open under another number of shares, and clears it. We hold that
   * source's lease meanwhile. If it rejects, so does `acquire`.
   */
  acquire(signal: AbortSignal, finish: (source: SinkSource) => Promise<void>): Promise<boolean>
  /** Whether other processes share the sink, and take over here when this one gives the lease back. */
  readonly isShared: boolean
  /** Call it while no entry is in work. True: another process should take over, so call `release`, then `acquire`. */
  givesBack(): boolean
  /** Gives the lease back, so that another sink need not wait until it ends. */
  release(): Promise<void>
  intent(): Promise<SinkIntent | undefined>
  /** Resolves when the intent is durable. */
  writeIntent(intent: SinkIntent): Promise<void>
  clearIntent(): Promise<void>
  /** Reads the entries of an intent that are not acknowledged yet. */
  readRanges(intent: SinkIntent): Promise<IntentRest>
  /** Reads entries that were delivered but never acknowledged, about `eventsMax` events. Empty: there are no more. */
  readPending(eventsMax: number): Promise<SinkRun[]>
  /**
   * Reads new entries, live ones first, about `eventsMax` events. If there are none, waits for the first one: up to `waitMs`, but
   * only about a second without a signal. May return early.
   */
  readNew(eventsMax: number, waitMs: number, signal?: AbortSignal): Promise<SinkRun[]>
  /**
   * Acknowledges the entries of a run, counts their events, and writes dead letters for the refused ones. After a failure some
   * entries may be acknowledged; `readRanges` leaves those out.
   */
  acknowledge(run: SinkRun, refused: readonly RefusedEvent[]): Promise<void>
  /**
   * Call it between a read and its insert. Redis may have lost the end of its data: rows of events received before this time,
   * milliseconds, may be stored although their entries look new. 0: no such rows.
   */
  forgotBefore(): Promise<number>
  /** Call it while no entry is in work. True: entries are pending anyway, because the reply of a read was lost. */
  hasStrayPending(): Promise<boolean>
  close(): Promise<void>
}
