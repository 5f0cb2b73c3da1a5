import type { Block } from '../core/event/block.ts'
import type { Lane } from '../core/pipeline/pipeline.ts'
import type { Delivery } from '../core/pipeline/stage.ts'

/** A block as a consumer group delivered it. */
export interface Entry extends Delivery {
  readonly id: string
  readonly lane: Lane
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
export interface Commit {
  /** What goes on to the segment's output; undefined when nothing is left. */
  readonly output: Block | undefined
  /** Number of events by what became of them: `kept`, a drop reason, or `dead`. */
  readonly outcomes: ReadonlyMap<string, number>
  readonly dead: readonly DeadLetter[]
  /** Blocks that go back into the stream they came from, to be tried one by one. */
  readonly again: readonly Block[]
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
  /** False when another consumer had finished the entry before; then nothing was written. */
  commit(entry: Entry, commit: Commit): Promise<boolean>
  /** Puts an entry that cannot be read among the dead letters, as it is. */
  bury(entry: BrokenEntry): Promise<void>
  close(): Promise<void>
}
