import type { Block, RowChange } from '../event/block.ts'
import type { Enricher } from '../event/enrichment.ts'
import type { Hostnames } from '../event/hostnames.ts'
import type { Delivery } from './delivery.ts'
import type { Outcome } from './outcome.ts'
import type { SeenStore } from './seen.ts'

/** What stages may ask. */
export interface StageTools {
  readonly enricher: Enricher
  /** Undefined: events are enriched without reverse DNS. */
  readonly hostnames: Hostnames | undefined
  readonly seen: SeenStore
}

/** What a stage says of a batch of events. Positions are those in the block that it was given. */
export interface StageResult {
  /** Events that are not kept. */
  readonly outcomes?: ReadonlyMap<number, Outcome>
  /** Rows that the stage changed, of events that are kept. */
  readonly changes?: ReadonlyMap<number, RowChange>
  /** What the stage found out about so many events, by name: added to the progress of their batch job exactly once. */
  readonly counts?: Readonly<Record<string, number>>
}

/**
 * One stage of a step. `decide` is a pure function of the block, of what `gather` found and of the data that the tools
 * hold in memory. Throwing means that the block as a whole could not be processed: the runner then tries its events one by
 * one.
 */
export interface Stage<Facts = unknown> {
  readonly name: string
  /** The reasons for which events leave here: what a summary shows with 0, too. A reason beside them counts all the same. */
  readonly drops?: readonly string[]
  /** Whether `gather` claims identities for the delivery; see `SeenStore`. */
  readonly claims?: boolean
  /**
   * I/O that the decision needs. May run again for the same delivery after a crash, and must then find the same facts.
   * Throws `UnavailableError` when it may succeed later; the entry stays pending.
   */
  gather?(block: Block, delivery: Delivery, tools: StageTools): Promise<Facts>
  decide(block: Block, facts: Facts, tools: StageTools): StageResult
}
