import type { BatchSummary } from '../../../../schemas/api/batch.ts'
import type { Addresses } from '../../../../schemas/tenant.ts'
import type { TenantRules } from '../../../../schemas/tenant-rules.ts'
import type { ChunkCounts, ChunkReading, LineChunk } from '../../declaration/source.ts'
import type { OriginCounts } from '../../event/origins.ts'
import type { AddressMask } from '../../event/pseudonym.ts'

/** A job as a feeder sees it. */
export interface OpenJob {
  readonly id: string
  readonly tenantId: string
  /** Whether its tenant is in a share that was ours before the job was looked at. All others are another feeder's. */
  readonly isOurs: boolean
  /**
   * `uploading`: not complete yet; `gone`: its upload died; `ended`: its record says so already, only its place is left.
   */
  readonly state: 'uploading' | 'gone' | 'queued' | 'running' | 'ended'
  readonly receivedAtMs: number
  /** Whether its tenant had an archive when it was received. */
  readonly archived: boolean
  /** What its tenant had stored of addresses when it was received. */
  readonly addresses: Addresses
  /** Lines that are not blank. */
  readonly received: number
  /** Number of chunks, counted from 1. */
  readonly chunks: number
  /** The chunk to feed next; above `chunks` when all are fed. */
  readonly next: number
  /** The name of its source; undefined: the first one of the pipeline that makes jobs. */
  readonly source?: string | undefined
}

/** How full a lane is. */
export interface LaneLevel {
  /** Events, of all jobs, that wait in it. */
  readonly waiting: number
  /** Events that ever came into it. */
  readonly added: number
}

/**
 * A feeder's side of the store. Every method may be repeated after a crash without doing anything twice. A feeder whose
 * lease ran out while it worked may still feed and advance the chunk that it holds: that too is done once.
 */
export interface FeederStore {
  /** Waits until a share of the tenants is ours; false when `signal` ended the wait. */
  acquire(signal: AbortSignal): Promise<boolean>
  /** @throws LeaseLostError when what was ours may be another's */
  assertHeld(): void
  /** Whether other feeders wait for some of what is ours. */
  hasSpare(): boolean
  /** Gives them that. Nothing may be in hand, and what was listed before is to be listed again. */
  giveBack(): Promise<void>
  release(): Promise<void>
  /** Of all tenants. */
  openJobs(): Promise<OpenJob[]>
  /** Events of the batch lane that some group of the pipeline has not finished. */
  eventsInLane(): Promise<LaneLevel>
  /** Events of batch jobs that wait for the archive. */
  payloadsInLane(): Promise<LaneLevel>
  /** Undefined when it is not there: data was lost. */
  readChunk(job: OpenJob): Promise<LineChunk | undefined>
  /** For a job whose addresses are not kept in full. Undefined when its tenant has no key for them: it is gone. */
  addressMask(job: OpenJob): Promise<AddressMask | undefined>
  /** What its tenant says of its traffic now; nothing when the tenant is gone. */
  tenantRules(job: OpenJob): Promise<TenantRules>
  /**
   * Adds a chunk's blocks, at most one of each sort a partition, to the batch lane, and the counts of its other lines to the
   * outcomes; once, however often it is called. What a partition takes, it takes as one.
   */
  feed(job: OpenJob, reading: ChunkReading): Promise<void>
  /** Moves the job to its next chunk and counts; once for each chunk. False when the job has ended: it was cancelled. */
  advance(job: OpenJob, counts: ChunkCounts): Promise<boolean>
  /** The summary, when every event that was fed is finished. */
  summaryIfFinished(job: OpenJob): Promise<BatchSummary | undefined>
  /** Where its events came from, as far as stages counted it. */
  origins(job: OpenJob): Promise<OriginCounts>
  /** False when the job had ended before: it stays as it was. */
  complete(job: OpenJob, summary: BatchSummary): Promise<boolean>
  /** As `complete`; false, too, when the job has moved on from its chunk: another feeder, or a late command, fed that. */
  fail(job: OpenJob, reason: string): Promise<boolean>
  /** Frees what an ended job, or a dead upload, leaves behind. */
  cleanUp(job: OpenJob): Promise<void>
}

/** Tells of jobs as they are opened. */
export interface OpenedJobs {
  /** Calls `onOpened` whenever one was, or may have been. Returns at once. */
  watch(onOpened: () => void): void
  close(): void
}
