import type { Lane } from './lane.ts'

/** What waits for one group in one lane of one partition. */
export interface GroupStatus {
  readonly stream: string
  readonly lane: Lane
  readonly partition: number
  readonly group: string
  /** Entries not yet delivered to the group. */
  readonly lag_entries: number
  /** Entries delivered and not yet acknowledged. */
  readonly pending_entries: number
  /** Events in all of them. */
  readonly waiting_events: number
  /** Age of the oldest of them, milliseconds; 0 when none waits. */
  readonly oldest_ms: number
}

export interface PipelineStatus {
  readonly streams: readonly GroupStatus[]
  /** Dead letters in all partitions. */
  readonly dead_letters: number
}
