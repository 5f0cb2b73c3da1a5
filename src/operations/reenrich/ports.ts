import type { Bot } from '../../../schemas/bots.ts'
import type { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import type { FilterReason } from '../../../schemas/tenant-rules.ts'
import type { EventScope } from '../../enrichment/tenant-rules/rule-scope.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'

/** Selects stored events. */
export interface Selection {
  readonly tenantId: string
  /** UTC days of receipt, `YYYY-MM-DD`, both included. */
  readonly from: string
  readonly to: string
  /** Only events of this batch job; undefined: all. */
  readonly job?: string | undefined
  /** Milliseconds since the epoch. Later events stay unchanged. */
  readonly receivedUntilMs: number
  /** See `StoredEvents.botAgents`. */
  readonly botAgents?: BotAgents
  /** Only events that one of these rules may apply to; undefined: all. */
  readonly scope?: EventScope | undefined
  /** Hidden events: also those that these rules hide. */
  readonly hiddenBy?: readonly string[]
}

/** Where stored events are: `gone` ones are only counted as filtered. */
export type Place = 'events' | 'hidden' | 'gone'
/** Places with rows. */
export type RowPlace = Exclude<Place, 'gone'>

/** The reason why events are hidden. */
export interface Hiding {
  /** Rule of the tenant; empty: their class alone hides them. */
  readonly rule: string
  /** Their reason in `daily_outcomes`. */
  readonly reason: FilterReason | ''
}

/** Hashes of the user agents that may be a bot's. `all`: there are too many to list, so every one may be. */
export type BotAgents = readonly string[] | 'all'

/** Values of `ENRICHMENT_COLUMNS` as text, in their order. */
export type Values = readonly string[]
export type EnrichmentColumn = (typeof ENRICHMENT_COLUMNS)[number]

/** Stored events in one place with the same address, account, enrichment and user agent. */
export interface Group {
  /** The stored address; may be masked. */
  readonly ip: string
  readonly accountId: string
  /** Hash of `values`, `agents` and the reason why the events are hidden. */
  readonly was: string
  /** Undefined for events that are not hidden. */
  readonly hiding?: Hiding | undefined
  readonly values: Values
  /** The user agents in the texts where `claimOf` looks for them, in its order; `''` for none, and for one that is not in `botAgents`. */
  readonly agents: readonly string[]
  readonly events: number
}

/** The fate of the events of an address with these old values. */
export interface Change {
  readonly ip: string
  readonly was: string
  /** Hidden and removed events count as filtered. */
  readonly to: Place
  /** The reason why they are or were hidden; undefined: none. */
  readonly hiding?: Hiding | undefined
  /** Class by which they count as filtered. */
  readonly classification: string
  readonly values: Values
}

/** A run of a reenrichment. */
export interface Run {
  /** Unique. */
  readonly id: string
  /** The maker of the request. */
  readonly by: string
}

/** Today's data. They do not change during a run. */
export interface TodaysData {
  /**
   * @param hostname stored host name, which replaces reverse DNS; `''`: none
   * @param claimed see `Enricher`
   */
  enrich(address: Address, hostname: string, claimed?: Bot): Enrichment
}

/** Events of a bucket in one place. */
export interface Portion {
  readonly selection: Selection
  readonly bucket: Bucket
  readonly from: RowPlace
}

/** Part of a selection: the addresses with this hash. */
export interface Bucket {
  readonly index: number
  readonly of: number
}

/** A complete copy of the changed events. While it exists, their replacement has not finished. */
export interface Staged {
  readonly tenantId: string
  /** The run that made it. */
  readonly run: string
  /** Includes events that are hidden or removed. */
  readonly events: number
}

/** Staged events of a time span, few enough for one statement. */
export interface Slice {
  readonly tenantId: string
  /** Milliseconds since the epoch. */
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
}

/** Reads stored events. */
export interface StoredEvents {
  /** Approximate number of distinct addresses, those of hidden events included. */
  addresses(selection: Selection, hidden: Selection): Promise<number>
  /** Finds the user agents of bots among the events. Few events have one, and reading its place in an event takes longer than all else. */
  botAgents(selection: Selection, from: RowPlace): Promise<BotAgents>
  /** The groups of a bucket, in portions. Every event is in one group. */
  groups(selection: Selection, bucket: Bucket, from: RowPlace): AsyncIterable<readonly Group[]>
  /** The ids that are accounts of the tenant now. */
  accountsAmong(tenantId: string, accountIds: readonly string[]): Promise<ReadonlySet<string>>
  /** The complete copy, if there is one. */
  staged(): Promise<Staged | undefined>
}

/**
 * Replaces stored events. The caller makes sure that only one process does. Each call may be repeated after a kill at any
 * moment. A copy survives after `complete`; the next `begin` removes an incomplete one.
 */
export interface EventReplacement {
  /** Creates an empty copy, and removes an incomplete one. */
  begin(): Promise<void>
  /** Adds the changed events of a bucket to the copy. */
  stage(portion: Portion, run: Run, changes: readonly Change[]): Promise<void>
  /** Number of events in the copy. */
  stagedSoFar(): Promise<number>
  /** Completes the copy. From now on its events must replace the stored ones. */
  complete(): Promise<void>
  /** Removes an incomplete copy. */
  discard(): Promise<void>
  /** Slices of the copy. Every event is in one of them. */
  slices(): Promise<Slice[]>
  /** Removes the events of the slice from both places: old ones, and new ones of an earlier attempt. */
  remove(slice: Slice): Promise<void>
  insert(slice: Slice): Promise<void>
  /** Whether each event of the slice is once in its place, and nowhere else. */
  isInserted(slice: Slice): Promise<boolean>
  /** Counts events that were removed, and logs hidden, shown and removed events. A repetition changes nothing more. */
  countFiltered(): Promise<void>
  /** Removes the copy after the replacement. */
  drop(): Promise<void>
}
