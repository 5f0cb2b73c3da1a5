import type { Block } from '../event/block.ts'
import type { Enricher } from '../event/enrichment.ts'
import type { Envelope } from '../event/envelope.ts'
import type { OutcomeCounts } from '../event/outcomes.ts'
import type { AddressMask } from '../event/pseudonym.ts'
import type { ReadEvent } from '../event/read-event.ts'
import type { FieldError } from '../event/validator.ts'
import type { Lane } from './lane.ts'

/** Where events come from, and the stream that takes them. */
export interface Source {
  /** For people: the operation of the API, or the command. */
  readonly from: string
  readonly lane: Lane
  readonly to: string
  /** The stream that takes events of tenants with an archive as they came; undefined: nothing does. */
  readonly raw?: string
}

/** Whose events they are, and when they came. */
export interface Receipt {
  readonly tenantId: string
  readonly receivedAtMs: number
  /** `x-request-id` of a live request, 1 to 128 printable ASCII characters; undefined for lines of a batch job. */
  readonly requestId?: string
  /** Whether the tenant has an archive. Default: false. */
  readonly archived?: boolean
  /** What stands in place of addresses; undefined: they are stored. Events are then enriched before the stream. */
  readonly mask?: AddressMask | undefined
  /**
   * Of so many partitions, all events of a live request without an id of their own have to be in one; undefined: anywhere.
   * See `GroupCommit`.
   */
  readonly gatherAmong?: number
}

/** What a request of `/v1/ingest` becomes: envelopes for the stream, and its response, which is made in the same pass. */
export interface Accepted {
  /** Events that may be stored. */
  readonly envelopes: readonly Envelope[]
  /** All others. */
  readonly outcomes: OutcomeCounts
  /** For a tenant with an archive every event, as `payload.ts` says. */
  readonly payloads: readonly Envelope[]
  /** The body of the response (schemas/README.md, Ingest). */
  readonly response: string
}

/** Requests that are answered when their events are in the stream. */
export interface LiveSource extends Source {
  /**
   * What happens before the stream: a pure function of a validated request.
   * @param text the request's body, of which the events were read
   */
  readonly accept: (text: string, events: readonly ReadEvent[], receipt: Receipt, enricher: Enricher) => Accepted
}

/** Blank lines of an upload that are left out of a chunk. */
export interface BlankGap {
  /** Lines of the chunk before it, and behind the gap before that; at least 1. */
  readonly after: number
  /** How many are left out. */
  readonly blank: number
}

/** Whole lines of an upload that are not blank, as they are kept until they are fed. */
export interface LineChunk {
  /** Position of the first line in the upload, counted from 1, blank lines included. */
  readonly firstLine: number
  /** In the order of the lines. */
  readonly gaps: readonly BlankGap[]
  /** Each line but perhaps the upload's last is ended by a line feed. */
  readonly bytes: Buffer
}

/** Says what is wrong with a value; nothing when it is an `EventEnvelope`. */
export type EventCheck = (value: unknown) => readonly FieldError[]

export interface ChunkContext extends Receipt {
  readonly jobId: string
  readonly partitions: number
  readonly check: EventCheck
  /** Whether events are enriched before the stream, because their tenant has rules. Default: false. */
  readonly isJudged?: boolean
  /** Answers by the tenant's rules. Asked for a tenant with an archive or rules, or whose addresses are not stored. */
  readonly enricher: Enricher
}

/** What the lines of a chunk were, and those at fault. */
export interface ChunkCounts {
  /** Events that were fed. */
  readonly fed: number
  readonly rejected: number
  readonly invalidIp: number
  readonly errors: readonly { readonly line: number; readonly detail: string }[]
  /** All rejected lines, in the order in which their reasons occur first. */
  readonly reasons: readonly RejectedGroup[]
}

/** Lines of a chunk that are rejected for the same reason. */
export interface RejectedGroup {
  /** Quotes nothing of the lines; `''` for the lines of all reasons beyond those that a chunk may list. */
  readonly reason: string
  readonly count: number
  /** The first ones. */
  readonly lines: readonly number[]
}

/** What a chunk becomes: at most one block a partition. */
export interface ChunkReading {
  readonly blocks: ReadonlyMap<number, Block>
  /** Lines that become no event of a block. */
  readonly outcomes: OutcomeCounts
  /** For a tenant with an archive: its events as they came, by the partition of the block that holds them. */
  readonly payloads: ReadonlyMap<number, Block>
  readonly counts: ChunkCounts
}

/** The reading of a chunk, which pauses now and then, so that other work may go on in between. */
export type SlicedReading = Generator<undefined, ChunkReading, undefined>

/** Uploads, fed chunk by chunk in step with how fast their lane drains. */
export interface BatchSource extends Source {
  /**
   * What happens before the stream: a pure function, so that the same chunk becomes the same events, with the same ids, at
   * every reading. Only the statuses of payloads, and rows that are completed here, follow the enricher.
   */
  readonly read: (chunk: LineChunk, context: ChunkContext) => SlicedReading
}

/** Every source of a pipeline. */
export interface Sources {
  readonly live: LiveSource
  readonly batch: BatchSource
}
