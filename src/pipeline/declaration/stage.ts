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

/** What a stage says of the events of a block. Positions are those in the block that it was given. */
export interface StageResult {
  /** Events that are not kept. */
  readonly outcomes?: ReadonlyMap<number, Outcome>
  /** New states and rows of events. Those of events that are not kept are ignored. A row keeps the columns of `row.ts`. */
  readonly changes?: ReadonlyMap<number, RowChange>
  /** In place of `changes`, where most events change: the block with all its events in their order, their states and rows new. */
  readonly changed?: Block
  /**
   * So many events of which the stage found something out, by name: added to the progress of their batch job exactly once.
   * Says nothing of what becomes of them; a later stage may drop them.
   */
  readonly counts?: Readonly<Record<string, number>>
}

/**
 * One stage of a step. It is given what the stages before it kept of an entry, or one event of that alone, and changes
 * nothing of it. `decide` is a pure function of the block, of what `gather` found and of the data that the tools hold in
 * memory.
 *
 * A stage that throws is asked again for each event alone, and those for which it throws again become dead letters. Two
 * errors are not about events: `UnavailableError` and `SettledElsewhereError`. A stage that claims is not asked for single
 * events, since twins of one identity would each find the claim to be their own: it must not throw for what an event holds.
 */
export interface Stage<Facts = unknown> {
  readonly name: string
  /** The reasons for which events leave here: what a summary shows with 0, too. A reason beside them counts all the same. */
  readonly drops?: readonly string[]
  /** Whether `gather` claims identities, see `SeenStore`; then it drops the events whose claim is another's, and no more. */
  readonly claims?: boolean
  /**
   * I/O that the decision needs. May run again for the same delivery, after a crash too, and must then find the same
   * facts. It limits its own time: its partition waits for it.
   * @throws UnavailableError when it may succeed later: the entry stays pending, at no cost to its events
   */
  gather?(block: Block, delivery: Delivery, tools: StageTools): Promise<Facts>
  decide(block: Block, facts: Facts, tools: StageTools): StageResult
}
