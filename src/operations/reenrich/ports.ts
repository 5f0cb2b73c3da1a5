import type { Bot } from '../../../schemas/bots.ts'
import type { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import type { FilterReason } from '../../../schemas/tenant-rules.ts'
import type { Concern } from '../../enrichment/tenant-rules/concern.ts'
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
  /** Only events that one of these may concern; undefined: all. */
  readonly concern?: Concern | undefined
}

/** Hashes of the user agents that may be a bot's. `all`: there are too many to list, so every one may be. */
export type BotAgents = readonly string[] | 'all'

/** Values of `ENRICHMENT_COLUMNS` as text, in their order. */
export type Values = readonly string[]
export type EnrichmentColumn = (typeof ENRICHMENT_COLUMNS)[number]

/** Stored events with the same address, account, enrichment and user agent. */
export interface Group {
  /** The stored address; may be masked. */
  readonly ip: string
  readonly accountId: string
  /** Hash of `values` and `agents`. */
  readonly was: string
  readonly values: Values
  /** The user agents in the texts where `claimOf` looks for them, in its order; `''` for none, and for one that is not in `botAgents`. */
  readonly agents: readonly string[]
  readonly events: number
}

/** New values for events of an address with these old values. */
export interface Change {
  readonly ip: string
  readonly was: string
  /** They are noise today: they leave the table and are counted as filtered. */
  readonly isNoise: boolean
  /** Their `outcomes.reason`. */
  readonly filteredAs?: FilterReason | undefined
  readonly values: Values
}

/** Today's data. They do not change during a run. */
export interface TodaysData {
  /**
   * @param hostname stored host name, which replaces reverse DNS; `''`: none
   * @param claimed see `Enricher`
   */
  enrich(address: Address, hostname: string, claimed?: Bot): Enrichment
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
  /** Includes events that leave the table as noise. */
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
  /** Approximate number of distinct addresses. */
  addresses(selection: Selection): Promise<number>
  /** Finds the user agents of bots among the events: few are, and reading where they are in an event takes longer than all else. */
  botAgents(selection: Selection): Promise<BotAgents>
  /** The groups of a bucket, in portions. Every event is in one group. */
  groups(selection: Selection, bucket: Bucket): AsyncIterable<readonly Group[]>
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
  /** Creates an empty copy, and removes an incomplete one. @param run unique */
  begin(run: string): Promise<void>
  /** Adds the changed events of a bucket to the copy. */
  stage(selection: Selection, bucket: Bucket, run: string, changes: readonly Change[]): Promise<void>
  /** Number of events in the copy. */
  stagedSoFar(): Promise<number>
  /** Completes the copy. From now on its events must replace the stored ones. */
  complete(): Promise<void>
  /** Removes an incomplete copy. */
  discard(): Promise<void>
  /** Slices of the copy. Every event is in one of them. */
  slices(): Promise<Slice[]>
  /** Removes the events of the slice from the table: old ones, and new ones of an earlier attempt. */
  remove(slice: Slice): Promise<void>
  insert(slice: Slice): Promise<void>
  /** Whether the table has each event of the slice once, without its noise. */
  isInserted(slice: Slice): Promise<boolean>
  /** Counts events that left as noise. A repetition counts them once. */
  countFiltered(): Promise<void>
  /** Removes the copy after the replacement. */
  drop(): Promise<void>
}
