import type { Block, RowChange } from '../event/block.ts'
import type { Enricher, Hostnames } from '../event/enrichment.ts'
import type { Lane } from './lane.ts'

/** The stream entry that a block came in. */
export interface Delivery {
  readonly partition: number
  readonly lane: Lane
  /** Id of the stream entry. */
  readonly id: string
  /**
   * Claim id: 8 bytes that identify the entry, the same at every delivery. They are unique among all entries of this stream and
   * partition, in both lanes. The parts of a split entry keep its claim id.
   */
  readonly claimId: Buffer
  /** Whether earlier claims may exist: the entry was delivered before, or is a part of one that was. */
  readonly repeated: boolean
}

/**
 * Remembers for the dedup window which entry claimed an identity. A claim is a promise to keep the event: the events of other
 * entries with this identity are dropped. So no later delivery of the entry may drop the event, even if newer data say so.
 */
export interface SeenStore {
  /**
   * Claims identities for a delivery. Returns the positions of identities that another entry has claimed. May be repeated for the
   * same entry, with the same result.
   * @param identities 16 bytes each, all different
   * @throws SettledElsewhereError when the delivery is no longer pending; nothing is claimed then. UnavailableError
   */
  claim(identities: Buffer, delivery: Delivery): Promise<readonly number[]>
  /**
   * The positions of identities that an earlier delivery of the entry has claimed.
   * @param identities 16 bytes each
   * @throws UnavailableError
   */
  held(identities: Buffer, delivery: Delivery): Promise<readonly number[]>
}

/** Another consumer has settled the entry: nothing is left to do. */
export class SettledElsewhereError extends Error {
  override name = 'SettledElsewhereError'
}

/** Tools of the stages. */
export interface StageTools {
  readonly enricher: Enricher
  /** Undefined: reverse DNS is off. */
  readonly hostnames: Hostnames | undefined
  readonly seen: SeenStore
}

/** Why an event leaves the pipeline at a stage. A stage keeps every event that it gives no outcome. */
export type Outcome =
  /**
   * The event is finished. The reason, of `[a-z_]`, names the count in the metrics and in the summary of a batch job. `detail` is a
   * short fixed text for `outcomes.reason`.
   */
  | { readonly kind: 'drop'; readonly reason: string; readonly detail?: string }
  /** The event cannot be processed and becomes a dead letter with this reason. */
  | { readonly kind: 'dead'; readonly reason: string }

/** Name of the count of `enrich`: events with the address of a known organisation that is not noise. */
export const IDENTIFIED = 'identified'
/** Starts the names of the counts of `filter-noise`, before a reason (schemas/filtered.ts). */
export const FILTERED_COUNT = 'filtered:'

/** A stage's decisions. Positions are those of the given block. */
export interface StageResult {
  /** Outcomes of events that are not kept. */
  readonly outcomes?: ReadonlyMap<number, Outcome>
  /** New states and rows. Ignored for events that are not kept. A row keeps the columns of `row.ts`. */
  readonly changes?: ReadonlyMap<number, RowChange>
  /** Replaces `changes` when most events change: a block of all events in their order, with new states and rows. */
  readonly changed?: Block
  /**
   * Numbers of events by name, added to the progress of their batch job exactly once. They do not affect the events; a later stage
   * may drop these.
   */
  readonly counts?: Readonly<Record<string, number>>
}

/**
 * One stage of a step. It gets the events of an entry that earlier stages kept, or a single one of them, and must not change them.
 * `decide` is a pure function of the block, the facts of `gather`, and the data that the tools hold in memory.
 *
 * When a stage throws, it is called again with each event alone, and an event for which it throws again becomes a dead letter.
 * `UnavailableError` and `SettledElsewhereError` do not count. A stage with `claims` is not called for single events, because two
 * events of one identity would both find their own claim. So it must not throw because of an event's content.
 */
export interface Stage<Facts = unknown> {
  readonly name: string
  /** Its drop reasons. A job's summary shows each of them, even with 0. Other reasons are counted too. */
  readonly drops?: readonly string[]
  /** Whether `gather` claims identities, see `SeenStore`. Then it drops only events that another entry has claimed. */
  readonly claims?: boolean
  /**
   * Does the I/O for the decision. May run again for the same delivery, also after a crash, and must then find the same facts. It
   * must limit its own time, because its partition waits for it.
   * @throws UnavailableError when it may succeed later: the entry stays pending, and this does not count as a failed delivery
   */
  gather?(block: Block, delivery: Delivery, tools: StageTools): Promise<Facts>
  decide(block: Block, facts: Facts, tools: StageTools): StageResult
}
