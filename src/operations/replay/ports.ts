import type { Envelope } from '../../pipeline/event/envelope.ts'
import type { OutcomeCounts } from '../../pipeline/event/outcomes.ts'
import type { PayloadStatus } from '../../pipeline/event/payload.ts'

/** Which parts of the archive. Days are UTC days of receipt, `YYYY-MM-DD`, the last one included. */
export interface Selection {
  readonly tenantId: string
  readonly from: string
  readonly to: string
  readonly source?: 'ingest' | 'batch' | undefined
  /** The id of a batch job, or the hour of live events. */
  readonly run?: string | undefined
}

/** A part of the archive that is selected. */
export interface ArchivedPart {
  /** Of its object, for people. */
  readonly key: string
  /** The batch job that its events came with; undefined for live events. */
  readonly job: string | undefined
  /** Day, source and run: an entry was put into one part of a run, so that another one of the same is a copy. */
  readonly run: string
  /** Milliseconds at which the first of its events entered the archive's stream; with the rest of its name, their order. */
  readonly firstMs: number
}

/** An event as the archive holds it. */
export interface ArchivedEvent {
  readonly eventId: string
  readonly receivedAtMs: number
  readonly status: PayloadStatus
  /** The event's JSON object as it was sent, white space apart. */
  readonly text: string
  /** Of the request that brought it; empty when it is not known. */
  readonly requestId: string
}

/** What one entry of the stream of payloads brought to a part: the events of one commit and partition. */
export interface ArchivedUnit {
  readonly partition: number
  /** Of the stream, `milliseconds-sequence`. */
  readonly entry: string
  /** What brought the events into Redis, `producer:number`. */
  readonly commit: string
  /** UTC day of receipt of all its events. */
  readonly day: string
  /** The batch job; undefined for live events. */
  readonly job: string | undefined
  readonly events: readonly ArchivedEvent[]
  /** Lines of the job that are no event, by what is wrong with them. */
  readonly rejected: readonly RejectedLines[]
}

export interface RejectedLines {
  readonly reason: string
  readonly lines: number
}

/** A unit before its lines are read. */
export interface ArchivedLines extends Omit<ArchivedUnit, 'events'> {
  readonly lines: readonly ArchivedLine[]
}

export interface ArchivedLine {
  readonly text: string
  /** Of the request that brought it; empty when it is not known. */
  readonly requestId: string
}

/** The archive of a tenant, as it is read. Rejects with `UnavailableError` when the store is away. */
export interface ArchiveReader {
  /** In the order in which their events came. */
  parts(selection: Selection): Promise<ArchivedPart[]>
  /** @throws InputError when the part is not as it was written */
  read(part: ArchivedPart): Promise<ArchivedLines[]>
}

/** Where an event is stored. */
export interface StoredRow {
  readonly receivedAtMs: number
  /** The batch job; empty for live events. */
  readonly jobId: string
}

/** A number of events that are counted as not stored. */
export interface CountedOutcome {
  readonly commit: string
  /** What `outcomes.source` has behind the commit; empty when they were counted as they came. */
  readonly leftWith: string
  readonly day: string
  readonly job: string | undefined
  readonly status: string
  readonly reason: string
  /** See `outcomeKey`. */
  readonly key: string
  readonly events: number
}

/** What the tables say of events. Rejects with `UnavailableError` when they cannot be asked. */
export interface StoredEvents {
  /** The rows of events of a tenant that were received in a span of time, by event id. */
  rowsOf(
    tenantId: string,
    eventIds: readonly string[],
    span: { readonly fromMs: number; readonly toMs: number },
  ): Promise<ReadonlyMap<string, readonly StoredRow[]>>
  /** What is counted of commits, on those days. */
  outcomesOf(
    tenantId: string,
    commits: readonly string[],
    days: readonly string[],
  ): Promise<ReadonlyMap<string, readonly CountedOutcome[]>>
  /** Those of the events that were stored and are filtered since they were judged again: how they are counted, by `eventKey`. */
  refilteredOf(
    tenantId: string,
    events: readonly Pick<ArchivedEvent, 'eventId' | 'receivedAtMs'>[],
    days: readonly string[],
  ): Promise<ReadonlyMap<string, string>>
}

/** In `outcomes.source`: see `FedUnit`. */
export const KEPT = 'kept'
export const UNFILTERED = 'unfiltered'

/** An identity of an event that is put back. */
export interface ReplayClaim {
  readonly partition: number
  /** 16 latin1 characters. */
  readonly identity: string
}

/** Events of one commit and partition that are put back into the batch lane, as one. */
export interface FedUnit {
  readonly partition: number
  readonly commit: string
  readonly job: string | undefined
  readonly envelopes: readonly Envelope[]
  /** Counted at the same time: events that are none of the envelopes, and counts that are taken back. */
  readonly outcomes: OutcomeCounts
  /** Counts that are taken back because today's data keep the event: of what was filtered as it came. */
  readonly kept: OutcomeCounts
  /** The same of what was filtered when it was judged again. */
  readonly unfiltered: OutcomeCounts
}

/** How far a replay came. */
export interface ReplayPosition {
  /** A digest of what was asked: another one begins anew. */
  readonly selection: string
  /** The part behind which it goes on. */
  readonly part: string
}

/**
 * The pipeline, as a replay feeds it. One replay works at a time. Everything rejects with `UnavailableError` when Redis is
 * away, and with `LeaseLostError` when another replay may have begun.
 */
export interface ReplayLane {
  readonly partitions: number
  /** When a restore changed that number last, milliseconds since 1970; 0: never. */
  readonly partitionsSinceMs: number
  /** Resolves when everything that is in the pipeline is stored, and counted unless `rowsOnly`. */
  untilStored(rowsOnly?: boolean): Promise<void>
  /** Milliseconds of Redis' clock. */
  now(): Promise<number>
  /** Dead letters of a tenant, by `eventKey`. */
  letters(tenantId: string): Promise<ReadonlySet<string>>
  /** Forgets claims that were made before `beforeMs`. */
  release(claims: readonly ReplayClaim[], beforeMs: number): Promise<void>
  /** Enters claims that no entry has. */
  claim(claims: readonly ReplayClaim[]): Promise<void>
  /** Resolves when all of them are in the stream. After a rejection some may be. */
  feed(units: readonly FedUnit[]): Promise<void>
  position(tenantId: string): Promise<ReplayPosition | undefined>
  keepPosition(tenantId: string, position: ReplayPosition | undefined): Promise<void>
}

/** An event of a tenant, as a text. */
export function eventKey(eventId: string, receivedAtMs: number): string {
  return `${receivedAtMs} ${eventId}`
}
