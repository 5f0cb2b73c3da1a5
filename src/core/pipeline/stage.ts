import type { Block, RowChange } from '../event/block.ts'
import type { Outcome } from './outcome.ts'

/** A block as it was delivered: the same entry has the same owner at every delivery. */
export interface Delivery {
  readonly partition: number
  /** Stands for the stream entry among all that this partition's streams ever hold; see `ownerOf`. */
  readonly owner: Buffer
}

/** What a stage says of a batch of events. Positions are those in the block that it was given. */
export interface StageResult {
  /** Events that are not kept. */
  readonly outcomes?: ReadonlyMap<number, Outcome>
  /** Rows that the stage changed, of events that are kept. */
  readonly changes?: ReadonlyMap<number, RowChange>
}

/**
 * One step of a pipeline. `decide` is a pure function of the block and of what `gather` found. Throwing means that the
 * block as a whole could not be processed: the runner then tries its events one by one.
 */
export interface Stage<Facts = unknown> {
  readonly name: string
  /**
   * I/O that the decision needs. May run again for the same delivery after a crash, and must then find the same facts.
   * Throws `UnavailableError` when it may succeed later; the entry stays pending.
   */
  gather?(block: Block, delivery: Delivery): Promise<Facts>
  decide(block: Block, facts: Facts): StageResult
}
