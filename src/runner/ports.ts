import type { Block } from '../core/event/block.ts'
import type { Delivery } from '../core/pipeline/delivery.ts'
import type { Lane } from '../core/pipeline/lane.ts'

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
}

export interface Delivered {
  readonly entries: readonly Entry[]
  readonly broken: readonly BrokenEntry[]
}

/** What a dead letter holds beside its place of origin. */
export interface DeadLetter {
  readonly reason: string
  /** The event alone, as a block. */
  readonly block: Block
}

/** What became of an entry. All of it is written together with the acknowledgement, or nothing is. */
export interface Settlement {
  /** What goes on to the step's output; undefined when nothing is left. */
  readonly output: Block | undefined
  /** Number of events that leave the pipeline here, by reason. Dead letters are not among them. */
  readonly dropped: ReadonlyMap<string, number>
  readonly dead: readonly DeadLetter[]
  /** Blocks that go back into the stream they came from, to be tried apart. */
  readonly again: readonly Block[]
  /** What stages counted, by name; see `StageResult`. */
  readonly counts: ReadonlyMap<string, number>
  /** Identities, 16 latin1 characters each, that the entry's owner may have claimed and no event of it is kept for. */
  readonly unclaimed: readonly string[]
}

/** Events of a settlement by what became of them, for metrics: `kept`, `dead`, `isolated` and the reasons of drops. */
export function outcomesOf({ output, dropped, dead, again }: Settlement): Map<string, number> {
  const isolated = again.reduce((sum, block) => sum + block.count, 0)
  const outcomes = new Map([...dropped, ['kept', output?.count ?? 0], ['dead', dead.length], ['isolated', isolated]])
  for (const [outcome, events] of outcomes) if (events === 0) outcomes.delete(outcome)
  return outcomes
}

/** One partition's end of a consumer group. Every method rejects with an error that may pass; nothing is lost by it. */
export interface GroupReader {
  readonly partition: number
  /**
   * Waits, at most a few seconds, for entries. Live entries come alone; batch entries come only when no live entry
   * waits. After `recover` was called, entries that were delivered to this consumer before come first.
   */
  next(): Promise<Delivered>
  /** The outcome of earlier calls is unknown: the next reads start with what is pending. */
  recover(): void
  /** Acknowledges an entry. False when another consumer had settled it before; then nothing was written. */
  settle(entry: Entry, settlement: Settlement): Promise<boolean>
  /** Puts an entry that cannot be read among the dead letters, as it is. */
  bury(entry: BrokenEntry): Promise<void>
  close(): Promise<void>
}
