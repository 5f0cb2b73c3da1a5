import type { Resolvers } from '../../run/with-resolvers.ts'
import { BlockPacker } from '../event/block.ts'
import type { OutcomeCounts } from '../event/outcomes.ts'

/** What one request appends: see `GroupCommitOptions.onAppended`. */
export interface Appended {
  readonly envelopes: number
  readonly counts: OutcomeCounts
}

/** Requests whose envelopes are all in Redis at the same time. They share one promise of it. */
export interface Waiters {
  readonly written: Resolvers
  readonly appended: Appended[]
}

/** What goes into one partition, as one. */
export interface Part {
  readonly envelopes: BlockPacker
  readonly payloads: BlockPacker
  readonly outcomes: Map<string, number>
}

/** Envelopes, payloads and counts that go to Redis together. */
export interface Pending {
  readonly byPartition: Part[]
  /** What is written last, by partition. */
  readonly lastByPartition: Part[]
  readonly bytes: number[]
  /** By the partition of their part that is not written with all others, see `lastByPartition`; -1: there is none. */
  readonly waiters: Map<number, Waiters>
  /** How many requests wait, of all `waiters`. */
  requests: number
  /** When its first envelopes came. */
  startedAtMs: number
  /** Events, whether they are written as such, for the archive, or both. */
  count: number
}

/** One that nothing was gathered for. */
export function emptyCommit(partitions: number): Pending {
  return {
    byPartition: Array.from({ length: partitions }, emptyPart),
    lastByPartition: Array.from({ length: partitions }, emptyPart),
    bytes: new Array<number>(partitions).fill(0),
    waiters: new Map(),
    requests: 0,
    startedAtMs: 0,
    count: 0,
  }
}

export function emptyPart(): Part {
  return { envelopes: new BlockPacker(), payloads: new BlockPacker(), outcomes: new Map() }
}

/** Events, whether they are written as such, for the archive, or both; and counts. */
export function sizeOf({ envelopes, payloads, outcomes }: Part): number {
  return Math.max(envelopes.count, payloads.count) + outcomes.size
}
