import type { OwnSettings, OwnValues } from '../../config/setting.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import type { KeyedRoute } from '../../http/route/route.ts'
import type { Caller } from '../../tenants/tenancy.ts'
import type { Block } from '../event/block.ts'
import type { Enricher } from '../event/enrichment.ts'
import type { Envelope } from '../event/envelope.ts'
import type { OutcomeCounts } from '../event/outcomes.ts'
import type { AddressMask } from '../event/pseudonym.ts'
import type { ReadEvent } from '../event/read-event.ts'
import type { FieldError } from '../event/validator.ts'
import type { BatchJobs } from './batch-jobs.ts'
import type { Lane } from './lane.ts'

/**
 * A way by which events come in: the routes of the API that take them, and what their payload becomes. Pure; what it does is done
 * by its routes.
 */
export interface Source<Own extends OwnSettings = OwnSettings> {
  /**
   * Names it in messages, and in the records of its batch jobs: a to z, 0 to 9 and `-`. Jobs that are open when it is renamed wait
   * until it is back.
   */
  readonly name: string
  /** The lane of the events that it keeps itself. Those of batch jobs go in the lane for batches, whatever this says. */
  readonly lane: Lane
  /** Settings of its own. They are flags of `ipid start` and environment variables, as all others are. */
  readonly settings?: Own
  /** Operations of the API. The first one stands for the source where people read of it. */
  readonly routes: readonly SourceRoute<Own>[]
  /** What the lines of its batch jobs become. Undefined: it makes no jobs. */
  readonly read?: ReadLines
}

/**
 * An operation of the API that belongs to a source. Its requests have passed the checks of all requests (key, rate limit, size),
 * and its failures are answered as `refuse` says.
 */
export interface SourceRoute<Own extends OwnSettings = OwnSettings> extends Omit<KeyedRoute, 'access' | 'handle'> {
  /** Called once for a process, before the first request. Does no I/O. */
  open(tools: SourceTools<Own>): KeyedRoute['handle']
}

/** What the routes of a source are opened with. */
export interface SourceTools<Own extends OwnSettings = OwnSettings> {
  /** Keeps the events of a request. */
  readonly keep: KeepEvents
  /** Uploads, and the jobs that they become. */
  readonly jobs: BatchJobs
  readonly settings: OwnValues<Own>
}

/**
 * Enriches events, puts them into the source's stream together with their payloads for the archive and the counts of the others,
 * as one, and makes the response, which is sent when all of it is on disk. The same for every source: tenants' rules, archive,
 * addresses, live view and limits hold.
 * @param text in which the events stand, see `ReadEvent.start`: what the archive is given of each is this part of it
 * @param respond makes the response, whose `after` must be `kept`. A failure to keep the events is answered as any other failure
 * @param others what else the request had, as it is counted
 */
export type KeepEvents = (
  text: string,
  events: readonly ReadEvent[],
  exchange: Exchange,
  caller: Caller,
  respond: (accepted: Accepted, kept: Promise<void>) => HttpResponse,
  others?: readonly OtherEvents[],
) => HttpResponse | Promise<HttpResponse>

/** Events of a request that go nowhere. They are counted in `outcomes`. */
export interface OtherEvents {
  /** One of `OUTCOME_STATUS`. */
  readonly status: string
  /** In a few fixed words, which quote nothing of the events. */
  readonly reason: string
  readonly events: number
}

/** A source of a pipeline, and where its events go. */
export interface SourceEntry {
  readonly from: Source
  /** The stream that takes its events. */
  readonly to: string
  /** The stream that takes events of tenants with an archive as they came; undefined: nothing does. */
  readonly raw?: string
}

/** Whose events they are, and when they came. */
export interface EventContext {
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
  readonly gatherAmong?: number | undefined
}

/** What the events of a request become: envelopes for the stream, and the response of `/v1/ingest`, made in the same pass. */
export interface Accepted {
  /** Events that may be stored. */
  readonly envelopes: readonly Envelope[]
  /** All others. */
  readonly outcomes: OutcomeCounts
  /** For a tenant with an archive every event, as `payload.ts` says. */
  readonly payloads: readonly Envelope[]
  /** The body of the response (schemas/README.md, Ingest). */
  readonly response: string
  /** Events whose address is noise, and those whose address is none. */
  readonly filtered: number
  readonly invalidIp: number
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

export interface ChunkContext extends EventContext {
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

/**
 * Reads whole lines of a batch job, which are fed chunk by chunk in step with how fast their lane drains. A pure function, so that
 * the same chunk becomes the same events, with the same ids, at every reading. Only the statuses of payloads, and rows that are
 * completed here, follow the enricher.
 */
export type ReadLines = (chunk: LineChunk, context: ChunkContext) => SlicedReading
