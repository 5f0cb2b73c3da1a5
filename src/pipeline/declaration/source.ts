import type { SourceFacts, SourceKeySorts } from '../../../schemas/api-key.ts'
import type { SetupSite } from '../../../schemas/dashboard/sources.ts'
import type { OwnSettings, OwnValues } from '../../config/setting.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import type { KeyedRoute, OpenRoute } from '../../http/route/route.ts'
import type { Caller } from '../../tenants/tenancy.ts'
import type { Block } from '../event/block.ts'
import type { Enricher } from '../event/enrichment.ts'
import type { Envelope } from '../event/envelope.ts'
import type { OutcomeCounts } from '../event/outcomes.ts'
import type { EventContext, ReadEvent } from '../event/read-event.ts'
import type { FieldError } from '../event/validator.ts'
import type { BatchJobs } from './batch-jobs.ts'
import type { Lane } from './lane.ts'
import type { Pull } from './pull.ts'

/** A way for events to come in: the routes of the API that take them, and how their payloads become events. */
export interface Source<Own extends OwnSettings = OwnSettings> {
  /**
   * Identifies it in messages and in the records of its batch jobs: a to z, 0 to 9 and `-`. If a source is renamed, its open jobs
   * wait until the old name is back.
   */
  readonly name: string
  /** The lane of its live events. Events of batch jobs always use the batch lane. */
  readonly lane: Lane
  /** Its own settings. Like all others, they are flags of `ipid start` and environment variables. */
  readonly settings?: Own
  /** Operations of the API. The first one is the title of the source. */
  readonly routes: readonly SourceRoute<Own>[]
  /** Operations that need no key, such as the proof that a domain is ours. */
  readonly openRoutes?: readonly OpenSourceRoute<Own>[]
  /** Reads the lines of its batch jobs. Undefined: it makes no jobs. */
  readonly read?: ReadLines
  /** Undefined: its requests carry API keys. */
  readonly tool?: SourceTool
  /** Undefined: its events are sent to routes. */
  readonly pull?: Pull
}

/** The way a source sends: our script in pages, libraries of tools, log shippers, or files and services that ipid reads. */
export type SourceGroup = 'website' | 'libraries' | 'shippers' | 'pulls'

/** The setup of a source that has keys of its own, for people. Its name is the kind of those keys. */
export interface SourceTool {
  /** Its name for people. Default: the name of the source. */
  readonly title?: string
  /** Default: `libraries`. Sources of `pulls` are made by the command line, which asks for their secrets. */
  readonly group?: SourceGroup
  /** Options that `ipid source create` needs, for people. Default: none. */
  readonly options?: string
  /** Which keys its sources get. Default: `server`. */
  readonly keys?: SourceKeySorts
  /** Path of the API, for `url` of a created source. */
  path(key: string): string
  /**
   * The blocks that people paste, and where.
   * @param facts of the source, for kinds whose sources differ
   */
  setup(place: SetupPlace, facts?: SourceFacts): readonly SetupBlock[]
  /** The presets of its sources, which may map fields of their own then. Undefined: the kind knows where its fields are. */
  readonly presets?: readonly SourcePreset[]
  /** Whether its libraries repeat events by design, and not only after failures. Default: false. */
  readonly repeats?: boolean
}

/** The inputs of a setup text. */
export interface SetupPlace {
  /** `http(s)://host:port` of the API, as its senders reach it. */
  readonly base: string
  /** The id of the source. */
  readonly id: string
  /** The server key. Undefined: it is not known any more, so that `setup` leaves out the blocks that hold it. */
  readonly key?: string | undefined
  /** The browser key; undefined: the source has none, so that `setup` leaves out the blocks that hold it. */
  readonly browserKey?: string | undefined
}

/** One thing to paste, in one place. */
export interface SetupBlock {
  /** Its place or its purpose: words without a full stop. */
  readonly title: string
  /** Notes about it: whole sentences. */
  readonly about?: string
  /** Exactly the text to paste. */
  readonly code: string
  /** The key that it holds. Undefined: none. */
  readonly key?: 'server' | 'browser'
  /** An example that has to be changed before it runs. It has no address and no id that would be valid. Default: false. */
  readonly isSample?: boolean
  /** Whether its code gives an event the address of its visitor. Default: false. */
  readonly givesAddress?: boolean
  /** Where a website is made, if this is all that it needs there. */
  readonly place?: SetupSite
}

/** A sender whose log format ipid knows. */
export interface SourcePreset {
  readonly name: string
  /** The sender, for people. */
  readonly about: string
  /** Whether several of its log entries are one event, so that most repeats are no retries. Default: false. */
  readonly sharesIds?: boolean
}

/**
 * An operation of the API that belongs to a source. Its requests have passed the general checks (key, rate limit, size). `refuse`
 * answers its failures.
 */
export interface SourceRoute<Own extends OwnSettings = OwnSettings> extends Omit<KeyedRoute, 'access' | 'handle'> {
  /** Called once per process, before the first request. Does no I/O. */
  open(tools: SourceTools<Own>): KeyedRoute['handle']
}

/** An operation of the API that belongs to a source and needs no key. */
export interface OpenSourceRoute<Own extends OwnSettings = OwnSettings> extends Omit<OpenRoute, 'access' | 'handle'> {
  /** As `SourceRoute.open`. */
  open(settings: OwnValues<Own>): OpenRoute['handle']
}

/** Arguments of `SourceRoute.open`. */
export interface SourceTools<Own extends OwnSettings = OwnSettings> {
  /** Stores the events of a request. */
  readonly keep: KeepEvents
  readonly jobs: BatchJobs
  readonly settings: OwnValues<Own>
  readonly secrets: {
    /** Decrypts `SourceFacts.secret`. @param owner id of the source @throws Error that says why it cannot, and what to do */
    open(sealed: string, owner: string): string
  }
}

/**
 * Enriches the events of a request and writes them to the source's stream, in one step with their payloads for the archive and the
 * counts of other events. Applies tenants' rules, archive, address masks, live view and limits. The response is sent when everything
 * is on disk.
 * @param text contains the events, see `ReadEvent.start`; the archive stores each event's part of it. Not read when the tenant has none
 * @param respond makes the response; its `after` must be `kept`. A failure to store the events is answered like any other failure
 * @param others further events of the request, which are only counted
 */
export type KeepEvents = (
  text: string,
  events: readonly ReadEvent[],
  exchange: Exchange,
  caller: Caller,
  respond: (accepted: Accepted, kept: Promise<void>) => HttpResponse,
  others?: readonly OtherEvents[],
) => HttpResponse | Promise<HttpResponse>

/** Events of a request that are only counted, in `outcomes`. */
export interface OtherEvents {
  /** One of `OUTCOME_STATUS`. */
  readonly status: string
  /** A short fixed text that quotes nothing of the events. */
  readonly reason: string
  readonly events: number
}

/** Writes accepted events into the pipeline. */
export interface Intake {
  /**
   * Resolves when everything is in Redis, written in one step. Rejects with `UnavailableError` when Redis has not taken it within
   * the write deadline, and with `BackpressureError` when the pipeline is full.
   * @param payloads for the archive
   * @param outcomes counts of events without an envelope
   */
  append(envelopes: readonly Envelope[], payloads?: readonly Envelope[], outcomes?: OutcomeCounts): Promise<void>
}

/** A source of a pipeline, and the streams for its events. */
export interface SourceEntry {
  readonly from: Source
  /** The stream for its events. */
  readonly to: string
  /** The stream for payloads of tenants with an archive. Undefined: its events are not archived. */
  readonly raw?: string
}

/** Result of accepting the events of a request. */
export interface Accepted {
  /** Events to store. */
  readonly envelopes: readonly Envelope[]
  /** Counts of all other events. */
  readonly outcomes: OutcomeCounts
  /** All events in the form of `payload.ts`, if the tenant has an archive. */
  readonly payloads: readonly Envelope[]
  /** The body of the response (schemas/README.md, Ingest); `''` for more events than `/v1/ingest` takes. */
  readonly response: string
  /** Events with a noise address. */
  readonly filtered: number
  readonly invalidIp: number
}

/** Blank lines of an upload that are left out of a chunk. */
export interface BlankGap {
  /** Number of lines between the previous gap, or the start of the chunk, and this gap; at least 1. */
  readonly after: number
  /** Number of blank lines. */
  readonly blank: number
}

/** Whole lines of an upload, without blank ones, stored until they are fed. */
export interface LineChunk {
  /** Number of the first line in the upload, counted from 1 with blank lines. */
  readonly firstLine: number
  /** In the order of the lines. */
  readonly gaps: readonly BlankGap[]
  /** Each line ends with a line feed, except perhaps the upload's last one. */
  readonly bytes: Buffer
}

/** Returns the errors of a value; none when it is an `EventEnvelope`. */
export type EventCheck = (value: unknown) => readonly FieldError[]

export interface ChunkContext extends EventContext {
  readonly job: string
  readonly partitions: number
  readonly check: EventCheck
  /** Whether the tenant has rules. Its events are then enriched before the stream. Default: false. */
  readonly isJudged?: boolean
  /** Applies the tenant's rules. Used if the tenant has an archive, rules, or masked addresses. */
  readonly enricher: Enricher
}

/** Counts of the lines of a chunk, and its first errors. */
export interface ChunkCounts {
  /** Events that were fed. */
  readonly fed: number
  readonly rejected: number
  readonly invalidIp: number
  /** Requests that are no page views. Default: 0. */
  readonly noPage?: number
  readonly errors: readonly { readonly line: number; readonly detail: string }[]
  /** All rejected lines, ordered by the first occurrence of their reason. */
  readonly reasons: readonly RejectedGroup[]
  /** The same lines, and those with an invalid address, as they are answered; at most as many as a job keeps. Default: none. */
  readonly lines?: readonly RejectedPart[]
}

/** Some rejected lines of a chunk, in their order. */
export interface RejectedPart {
  /** Number of them. */
  readonly lines: number
  /** NDJSON of `RejectedLine`. */
  readonly text: string
}

/** Lines of a chunk that were rejected for the same reason. */
export interface RejectedGroup {
  /** Quotes nothing of the lines. `''` for all reasons over the limit. */
  readonly reason: string
  readonly count: number
  /** Numbers of the first lines. */
  readonly lines: readonly number[]
}

/** Result of reading a chunk. The maps hold at most one block per partition. */
export interface ChunkReading {
  readonly blocks: ReadonlyMap<number, Block>
  /** Counts of lines that are not in a block. */
  readonly outcomes: OutcomeCounts
  /** Payloads for the archive, if the tenant has one. */
  readonly payloads: ReadonlyMap<number, Block>
  readonly counts: ChunkCounts
}

/** Reads a chunk in slices, so that the caller can let other work run in between. */
export type SlicedReading = Generator<undefined, ChunkReading, undefined>

/**
 * Reads whole lines of a batch job. A pure function: the same chunk gives the same events with the same ids each time. Only the
 * statuses of payloads, and enriched rows, depend on the enricher.
 */
export type ReadLines = (chunk: LineChunk, context: ChunkContext) => SlicedReading
