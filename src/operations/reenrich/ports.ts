import type { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import type { FilterReason } from '../../../schemas/tenant-rules.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'

/** Which stored events are judged again. */
export interface Selection {
  readonly tenantId: string
  /** UTC days of receipt, `YYYY-MM-DD`, both included. */
  readonly from: string
  readonly to: string
  /** Only those of a batch job; undefined: all. */
  readonly job?: string | undefined
  /** Milliseconds since the epoch: what was received later is left alone. */
  readonly receivedUntilMs: number
}

/** Values of `ENRICHMENT_COLUMNS` as text, in their order. */
export type Values = readonly string[]
export type EnrichmentColumn = (typeof ENRICHMENT_COLUMNS)[number]

/** Stored events that differ in nothing that a judgement sees or changes. */
export interface Group {
  /** As it is stored. */
  readonly ip: string
  readonly accountId: string
  /** Tells `values` apart from others of the same address. */
  readonly was: string
  readonly values: Values
  readonly events: number
}

/** What becomes of events of an address with these values. */
export interface Change {
  readonly ip: string
  readonly was: string
  /** They are noise today: they leave the table, and are counted. */
  readonly isNoise: boolean
  /** What stands in `outcomes.reason` of them then. */
  readonly filteredAs?: FilterReason | undefined
  readonly values: Values
}

/** Today's data. The same for every question. */
export interface TodaysData {
  /** @param hostname what is stored, as if reverse DNS had said it; `''`: nothing */
  enrich(address: Address, hostname: string): Enrichment
}

/** Part of a selection: addresses by their hash. */
export interface Bucket {
  readonly index: number
  readonly of: number
}

/** A complete copy of events as they are to be. Its existence means that they have to get into the table. */
export interface Staged {
  readonly tenantId: string
  /** Those that leave the table as noise included. */
  readonly events: number
}

/** Staged events of a span of receipt, few enough for one statement. */
export interface Slice {
  readonly tenantId: string
  /** Milliseconds since the epoch. */
  readonly fromMs: number
  /** Not included. */
  readonly toMs: number
}

/** Stored events, as they are judged again. Reads only. */
export interface StoredEvents {
  /** About how many addresses they have. */
  addresses(selection: Selection): Promise<number>
  /** Every event of the bucket is in one group. In portions. */
  groups(selection: Selection, bucket: Bucket): AsyncIterable<readonly Group[]>
  /** Which of these are accounts of the tenant now. */
  accountsAmong(tenantId: string, accountIds: readonly string[]): Promise<ReadonlySet<string>>
  /** The copy that was completed and not taken over yet. */
  staged(): Promise<Staged | undefined>
}

/**
 * Replaces stored events. One at a time, which the caller sees to. Each call may be repeated after it was cut off at any
 * moment; what was completed by `complete` survives, what was not is gone with the next `begin`.
 */
export interface EventReplacement {
  /** Begins an empty copy, and removes one that was not completed. @param run never given twice */
  begin(run: string): Promise<void>
  /** Adds the changed events of a bucket to the copy, as they are to be. */
  stage(selection: Selection, bucket: Bucket, run: string, changes: readonly Change[]): Promise<void>
  /** Events in the copy so far. */
  stagedSoFar(): Promise<number>
  /** From now on the copy has to be taken over. */
  complete(): Promise<void>
  /** Gives up a copy that was not completed. */
  discard(): Promise<void>
  /** The copy in parts, every event in one of them. */
  slices(): Promise<Slice[]>
  /** Removes the events of the slice, old ones and those of an earlier attempt. */
  remove(slice: Slice): Promise<void>
  insert(slice: Slice): Promise<void>
  /** Whether the table has each event of the slice once, and no noise of it. */
  isThere(slice: Slice): Promise<boolean>
  /** Counts what left as noise, once. */
  countFiltered(): Promise<void>
  /** Everything is in its place: removes the copy. */
  drop(): Promise<void>
}
