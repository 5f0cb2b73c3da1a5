import type { EntryOfRows } from '../declaration/destination.ts'
import type { Lane } from '../declaration/lane.ts'

/** One stream that a sink reads: a lane of a partition. */
export interface SinkStream {
  readonly partition: number
  readonly lane: Lane
}

export interface SinkEntry extends EntryOfRows {
  /** See `Delivery`: it goes with a dead letter. */
  readonly claimId: Buffer
}

/** Consecutive entries of one stream. */
export interface SinkRun extends SinkStream {
  readonly entries: readonly SinkEntry[]
}

/** What a sink is about to insert under one token: everything that is needed to do it again, exactly. */
export interface SinkIntent {
  readonly token: string
  readonly ranges: readonly (SinkStream & { readonly first: string; readonly last: string; readonly entries: number })[]
  /** Set when rows may be stored already under another token: then none is inserted that is. */
  readonly mayBeStored?: true
  /** Parts that were refused for no clear reason and are taken apart, by what follows the token in theirs. */
  readonly divided?: readonly string[]
  /** Set when the insert is done and rows were refused: a repeat then only acknowledges. */
  readonly refused?: readonly (SinkStream & { readonly id: string; readonly index: number; readonly reason: string })[]
}

/** What is left of an intent. */
export interface IntentRest {
  readonly runs: readonly SinkRun[]
  /** True when some of its entries are acknowledged already, and so the insert was complete. */
  readonly inserted: boolean
}

/** An event that the destination refuses. */
export interface RefusedEvent {
  readonly entry: SinkEntry
  /** Position in the entry's block. */
  readonly index: number
  readonly reason: string
  /** The reason in a few words that hold nothing of the row; '' for one that was refused before this process began. */
  readonly kind: string
}

/**
 * Where a sink takes entries from. Only the owner of the lease reads and writes intents: `writeIntent`, `clearIntent`,
 * `readPending` and `readNew` throw `LeaseLostError` when the lease may be another's. Any method rejects with an error
 * that may pass; nothing is lost by it.
 */
export interface SinkSource {
  /**
   * Waits until the lease is ours, or `signal` ends the wait.
   * @param finish is given a source of which we have the lease too, whose intent nobody else finishes: its owner is gone, and
   * sinks divide the streams in another way by now. It clears the intent, or rejects; so does `acquire` then.
   */
  acquire(signal: AbortSignal, finish: (source: SinkSource) => Promise<void>): Promise<boolean>
  /** Whether other processes work beside this one, and go on here when it gives the lease back. */
  readonly isShared: boolean
  /** Asked when nothing is in hand. True when another sink is to go on here: then `release` follows, and `acquire`. */
  givesBack(): boolean
  /** Gives the lease back, so that another sink need not wait for its end. */
  release(): Promise<void>
  intent(): Promise<SinkIntent | undefined>
  /** Must be durable before the insert starts. */
  writeIntent(intent: SinkIntent): Promise<void>
  clearIntent(): Promise<void>
  /** The entries of an intent's ranges that are not acknowledged yet. */
  readRanges(intent: SinkIntent): Promise<IntentRest>
  /** Entries that were delivered and never acknowledged, of about `eventsMax` events; none: there are no more. */
  readPending(eventsMax: number): Promise<SinkRun[]>
  /**
   * New entries, live ones first, of about `eventsMax` events. When there are none it waits for the first: up to `waitMs`, and
   * about a second without a signal to end it. It may give up earlier.
   */
  readNew(eventsMax: number, waitMs: number, signal?: AbortSignal): Promise<SinkRun[]>
  /**
   * Acknowledges the entries of a run, counts their events, and puts refused ones among the dead letters. When it
   * fails, a part of them may be done: `readRanges` leaves those out.
   */
  acknowledge(run: SinkRun, refused: readonly RefusedEvent[]): Promise<void>
  /**
   * Asked between a read and its insert. Rows of events that were received before this moment, milliseconds, may be stored
   * though their entries come for the first time: the store lost the end of what it knew. 0: there are none.
   */
  forgotBefore(): Promise<number>
  /** Asked when nothing is in hand. True when entries are pending all the same: the reply of a read was lost. */
  hasStrayPending(): Promise<boolean>
  close(): Promise<void>
}
