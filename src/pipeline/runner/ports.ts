import type { Lane } from '../declaration/lane.ts'
import type { Delivery } from '../declaration/stage.ts'
import type { Block } from '../event/block.ts'
import type { OutcomeCounts } from '../event/outcomes.ts'

/** A block as a consumer group delivered it. */
export interface Entry extends Delivery {
  readonly block: Block
  /** How often it was delivered, this time included. */
  readonly deliveries: number
}

/** An entry whose fields are not a block. It becomes a dead letter. */
export interface BrokenEntry {
  readonly id: string
  readonly lane: Lane
  readonly reason: string
  /** The entry was deleted while it was pending. Redis has removed it from the group and does not deliver it again. */
  readonly isGone?: boolean
}

export interface Delivered {
  readonly entries: readonly Entry[]
  readonly broken: readonly BrokenEntry[]
}

/** An event that cannot be processed. The store adds where it was. */
export interface DeadLetter {
  readonly reason: string
  /** The event, as a block of one. */
  readonly block: Block
  /** The key under which it is counted as dead, see `outcomeKey`. A retry takes that count back. */
  readonly outcome: string | undefined
  /**
   * Whether the letter carries the claim id of its entry, so that a retry is not a duplicate of itself. Of several events with one
   * identity at most one may: none if one of them is kept, else the first letter. The others must stay duplicates.
   */
  readonly keepsClaim: boolean
}

/** Numbers of events that entered, left and were dropped by a stage. The rest are dead. */
export interface StageCount {
  readonly stage: string
  readonly in: number
  readonly out: number
  readonly dropped: ReadonlyMap<string, number>
}

/** The result of an entry. It is written together with the acknowledgement, or not at all. */
export interface Settlement {
  /** Events for the step's output stream; undefined: none. */
  readonly output: Block | undefined
  /** Number of dropped events by reason, without dead letters. */
  readonly dropped: ReadonlyMap<string, number>
  /** Dropped events and dead letters, as they are counted for analysts. */
  readonly outcomes: OutcomeCounts
  readonly dead: readonly DeadLetter[]
  /** Blocks that go back into the source stream, to be tried one by one. */
  readonly again: readonly Block[]
  /** Counts of each stage, for metrics; undefined: no stage ran. */
  readonly stages?: readonly StageCount[]
  /** Counts of the stages, by name; see `StageResult`. */
  readonly counts: ReadonlyMap<string, number>
  /**
   * Identities, 16 latin1 characters each, of dropped events that another delivery may have claimed meanwhile. If it has, the
   * settlement is contested: a claimed event must not be dropped.
   */
  readonly unclaimed: readonly string[]
}

/**
 * `written`; `settled before`: another consumer was first, nothing is written; `contested`: the entry was delivered again
 * meanwhile, nothing is written, and the stages must run once more with `repeated` set.
 */
export type SettleResult = 'written' | 'settled before' | 'contested'

/** Events of a settlement by outcome, for metrics: `kept`, `dead`, `isolated`, and each reason of a drop. */
export function outcomesOf({ output, dropped, dead, again }: Settlement): Map<string, number> {
  const outcomes = new Map(dropped)
  if (output !== undefined) outcomes.set('kept', output.count)
  if (dead.length > 0) outcomes.set('dead', dead.length)
  for (const block of again) outcomes.set('isolated', (outcomes.get('isolated') ?? 0) + block.count)
  return outcomes
}

/** Reads one partition for a consumer group. Every method may reject with a passing error; no entry is lost by that. */
export interface GroupReader {
  readonly partition: number
  /**
   * Waits for entries: about a second, or a few seconds if a signal can end the wait. May return none. Reads batch entries only
   * while no live entry waits. Pending entries come before new ones: after `recover` those of this consumer, and from time to
   * time those that another consumer did not finish.
   * @param waits false: returns at once, and only new entries, because earlier ones are still in work
   */
  next(waits: boolean, signal?: AbortSignal): Promise<Delivered>
  /** Call it after a failure: the next reads begin with the entries that are pending. */
  recover(): void
  /** Acknowledges an entry and writes its settlement atomically. */
  settle(entry: Entry, settlement: Settlement): Promise<SettleResult>
  /** Moves an unreadable entry to the dead letters, as it is. */
  bury(entry: BrokenEntry): Promise<void>
  close(): Promise<void>
}
