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

/** An entry whose fields are not a block: it can only be put aside. */
export interface BrokenEntry {
  readonly id: string
  readonly lane: Lane
  readonly reason: string
  /** It was deleted while it was pending, and is off the group already: nobody will be told of it again. */
  readonly isGone?: boolean
}

export interface Delivered {
  readonly entries: readonly Entry[]
  readonly broken: readonly BrokenEntry[]
}

/** An event that cannot be processed; the store adds where it was. */
export interface DeadLetter {
  readonly reason: string
  /** The event alone, as a block. */
  readonly block: Block
  /** The key under which it is counted as dead, see `outcomeKey`: whoever puts it back takes that back. */
  readonly outcome: string | undefined
  /**
   * Whether a retry comes for the entry's claim id, and so finds a claim to be its own. One letter of an identity does, when no
   * event of that identity is kept: a twin must find itself to be a duplicate.
   */
  readonly keepsClaim: boolean
}

/** What a stage made of the events that it was given. Those that are in, and neither out nor dropped, are dead. */
export interface StageCount {
  readonly stage: string
  readonly in: number
  readonly out: number
  readonly dropped: ReadonlyMap<string, number>
}

/** What became of an entry. All of it is written together with the acknowledgement, or nothing is. */
export interface Settlement {
  /** What goes on to the step's output; undefined when nothing is left. */
  readonly output: Block | undefined
  /** Number of events that leave the pipeline here, by reason. Dead letters are not among them. */
  readonly dropped: ReadonlyMap<string, number>
  /** The events that leave the pipeline here, dead letters included, as they are counted for analysts. */
  readonly outcomes: OutcomeCounts
  readonly dead: readonly DeadLetter[]
  /** Blocks that go back into the stream they came from, to be tried apart. */
  readonly again: readonly Block[]
  /** What passed each stage, for metrics; undefined: none was run. */
  readonly stages?: readonly StageCount[]
  /** What stages counted, by name; see `StageResult`. */
  readonly counts: ReadonlyMap<string, number>
  /**
   * Identities, 16 latin1 characters each, of dropped events that another delivery may have claimed meanwhile. A settlement
   * must not drop what is claimed: it is contested then.
   */
  readonly unclaimed: readonly string[]
}

/**
 * What came of a settlement: it is written; the entry was settled before, and nothing is written; or it is contested, and
 * nothing is written: the entry was delivered again meanwhile, so it has to be run once more as a repeated one.
 */
export type SettleResult = 'written' | 'settled before' | 'contested'

/** Events of a settlement by what became of them, for metrics: `kept`, `dead`, `isolated` and the reasons of drops. */
export function outcomesOf({ output, dropped, dead, again }: Settlement): Map<string, number> {
  const outcomes = new Map(dropped)
  if (output !== undefined) outcomes.set('kept', output.count)
  if (dead.length > 0) outcomes.set('dead', dead.length)
  for (const block of again) outcomes.set('isolated', (outcomes.get('isolated') ?? 0) + block.count)
  return outcomes
}

/** One partition's end of a consumer group. Every method rejects with an error that may pass; nothing is lost by it. */
export interface GroupReader {
  readonly partition: number
  /**
   * Waits for entries, at most a few seconds, or about one without a signal to end it; none may come. Batch entries are read
   * when no live entry waits. What was delivered before goes ahead of what is new: behind `recover` this consumer's own, and
   * from time to time what another one did not finish.
   * @param waits false: only looks, and only for what is new, since what came before is still being finished
   */
  next(waits: boolean, signal?: AbortSignal): Promise<Delivered>
  /** The outcome of earlier calls is unknown: the next reads start with what is pending. */
  recover(): void
  /** Acknowledges an entry and writes its settlement, as one. */
  settle(entry: Entry, settlement: Settlement): Promise<SettleResult>
  /** Puts an entry that cannot be read among the dead letters, as it is. */
  bury(entry: BrokenEntry): Promise<void>
  close(): Promise<void>
}
