import type { Envelope } from '../../pipeline/event/envelope.ts'
import type { OutcomeCounts } from '../../pipeline/event/outcomes.ts'
import type { PayloadStatus } from '../../pipeline/event/payload.ts'

/** Selects parts of the archive. Days are UTC days of receipt, `YYYY-MM-DD`, both included. */
export interface Selection {
  readonly tenantId: string
  readonly from: string
  readonly to: string
  readonly source?: 'ingest' | 'batch' | undefined
  /** The id of a batch job, or the hour of live events. */
  readonly run?: string | undefined
}

export interface ArchivedPart {
  /** Key of its object. */
  readonly key: string
  /** The batch job of its events; undefined for live events. */
  readonly job: string | undefined
  /** Day, source and run. An entry belongs to one part of a run, so a second part with the entry is a copy. */
  readonly run: string
  /** Milliseconds of its first entry in the archive's stream. Parts are ordered by this, then by key. */
  readonly firstMs: number
}

export interface ArchivedEvent {
  readonly eventId: string
  readonly receivedAtMs: number
  readonly status: PayloadStatus
  /** The event's JSON object as sent, except for white space. */
  readonly text: string
  /** Empty when unknown. */
  readonly requestId: string
  /** The source whose key brought the event; undefined: an API key did, or an earlier version archived it. */
  readonly sourceId?: string | undefined
  /** Whether that key was a browser key. */
  readonly isBrowser: boolean
}

/** Events of one entry of the payload stream: they have one commit and one partition. */
export interface ArchivedUnit {
  readonly partition: number
  /** Id in the stream, `milliseconds-sequence`. */
  readonly entry: string
  /** The commit that wrote the events to Redis, `producer:number`. */
  readonly commit: string
  /** UTC day of receipt of all its events. */
  readonly day: string
  /** The batch job; undefined for live events. */
  readonly job: string | undefined
  readonly events: readonly ArchivedEvent[]
  /** Events that were only counted, by reason. */
  readonly rejected: readonly RejectedLines[]
}

export interface RejectedLines {
  /** Default: `rejected`. */
  readonly status?: string | undefined
  readonly reason: string
  readonly lines: number
  /** The source whose key brought them; undefined: an API key did. */
  readonly sourceId?: string | undefined
}

/** A unit before its lines are read. */
export interface ArchivedLines extends Omit<ArchivedUnit, 'events'> {
  readonly lines: readonly ArchivedLine[]
}

export interface ArchivedLine {
  readonly text: string
  /** Empty when unknown. */
  readonly requestId: string
}

/** Reads the archive of a tenant. Rejects with `UnavailableError` when the store is down. */
export interface ArchiveReader {
  /** In the order of their events. */
  parts(selection: Selection): Promise<ArchivedPart[]>
  /** @throws InputError when the part is damaged */
  read(part: ArchivedPart): Promise<ArchivedLines[]>
}

/** A row of `events`. */
export interface StoredRow {
  readonly receivedAtMs: number
  /** The batch job; empty for live events. */
  readonly jobId: string
}

/** A row of `outcomes`: a number of events that were counted instead of stored. */
export interface CountedOutcome {
  readonly commit: string
  /** The rest of `outcomes.source` after the commit; empty when the events were counted at their receipt. */
  readonly leftWith: string
  readonly day: string
  readonly job: string | undefined
  readonly status: string
  readonly reason: string
  /** Empty or undefined: an API key brought them. */
  readonly sourceId?: string
  /** See `outcomeKey`. */
  readonly key: string
  readonly events: number
}

/** Reads the tables. Rejects with `UnavailableError` when ClickHouse does not answer. */
export interface StoredEvents {
  /** Rows of these events that were received in the span, by event id. */
  rowsOf(
    tenantId: string,
    eventIds: readonly string[],
    span: { readonly fromMs: number; readonly toMs: number },
  ): Promise<ReadonlyMap<string, readonly StoredRow[]>>
  /** Outcomes of these commits on these days, by commit. */
  outcomesOf(
    tenantId: string,
    commits: readonly string[],
    days: readonly string[],
  ): Promise<ReadonlyMap<string, readonly CountedOutcome[]>>
  /** Outcome keys of events that a reenrichment filtered after they were stored, by `eventKey`. */
  refilteredOf(
    tenantId: string,
    events: readonly Pick<ArchivedEvent, 'eventId' | 'receivedAtMs'>[],
    days: readonly string[],
  ): Promise<ReadonlyMap<string, string>>
}

/** Parts of `outcomes.source`: see `FedUnit`. */
export const KEPT = 'kept'
export const UNFILTERED = 'unfiltered'

/** The identity of a replayed event. */
export interface ReplayClaim {
  readonly partition: number
  /** 16 latin1 characters. */
  readonly identity: string
}

/** Events of one commit and partition, for the batch lane. Redis takes them atomically. */
export interface FedUnit {
  readonly partition: number
  readonly commit: string
  readonly job: string | undefined
  readonly envelopes: readonly Envelope[]
  /** Changes of counts: events that have no envelope, and negative numbers that undo earlier counts. */
  readonly outcomes: OutcomeCounts
  /** Negative numbers for events that were filtered at their receipt and that today's data keep. */
  readonly kept: OutcomeCounts
  /** The same for events that a reenrichment filtered. */
  readonly unfiltered: OutcomeCounts
}

/** Progress of a replay. */
export interface ReplayPosition {
  /** Digest of the selection. A replay of another selection starts over. */
  readonly selection: string
  /** Key of the last finished part. */
  readonly part: string
}

/**
 * Feeds the pipeline. One replay runs at a time. Every call rejects with `UnavailableError` when Redis is down, and with
 * `LeaseLostError` when another replay may have started.
 */
export interface ReplayLane {
  readonly partitions: number
  /** When a restore last changed that number, milliseconds since 1970; 0: never. */
  readonly partitionsSinceMs: number
  /** Resolves when all events in the pipeline are stored, and, unless `rowsOnly`, counted. */
  untilStored(rowsOnly?: boolean): Promise<void>
  /** Resolves when all payloads that were received before are in the archive, which closes its parts after some time. */
  untilArchived(): Promise<void>
  /** Redis' clock, milliseconds. */
  now(): Promise<number>
  /** Dead letters of a tenant, by `eventKey`. */
  letters(tenantId: string): Promise<ReadonlySet<string>>
  /** Removes claims made before `beforeMs`. */
  release(claims: readonly ReplayClaim[], beforeMs: number): Promise<void>
  /** Adds claims that belong to no entry. */
  claim(claims: readonly ReplayClaim[]): Promise<void>
  /** Resolves when all units are in the stream. After a rejection, some may be. */
  feed(units: readonly FedUnit[]): Promise<void>
  position(tenantId: string): Promise<ReplayPosition | undefined>
  keepPosition(tenantId: string, position: ReplayPosition | undefined): Promise<void>
}

/** Identifies an event of a tenant. */
export function eventKey(eventId: string, receivedAtMs: number): string {
  return `${receivedAtMs} ${eventId}`
}
