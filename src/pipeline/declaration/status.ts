import type { Lane } from './lane.ts'

/** Queue length of one group in one lane of one partition. */
export interface GroupStatus {
  readonly stream: string
  readonly lane: Lane
  readonly partition: number
  readonly group: string
  /** Entries not yet delivered to the group. */
  readonly lag_entries: number
  /** Entries delivered but not yet acknowledged. */
  readonly pending_entries: number
  /** Events of all these entries. */
  readonly waiting_events: number
  /** Age of the oldest entry in milliseconds; 0 when none waits. */
  readonly oldest_ms: number
}

export interface PipelineStatus {
  readonly streams: readonly GroupStatus[]
  /** Dead letters in all partitions. */
  readonly dead_letters: number
}
