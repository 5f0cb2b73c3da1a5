import type { BatchSummary } from '../../../../schemas/api/batch.ts'
import type { Addresses } from '../../../../schemas/tenant.ts'
import type { TenantRules } from '../../../../schemas/tenant-rules.ts'
import type { Lease } from '../../../run/leased-service.ts'
import type { ChunkCounts, ChunkReading, LineChunk } from '../../declaration/source.ts'
import type { AddressMask } from '../../event/pseudonym.ts'

/** A job as a feeder sees it. */
export interface OpenJob {
  readonly id: string
  readonly tenantId: string
  /** Whether this feeder held the tenant's share before it read the job. Another feeder serves all other jobs. */
  readonly isOurs: boolean
  /** `uploading`: not complete yet. `gone`: the upload died. `ended`: completed or failed, but still among the open jobs. */
  readonly state: 'uploading' | 'gone' | 'queued' | 'running' | 'ended'
  readonly receivedAtMs: number
  /** Whether the tenant had an archive at the time of the upload. */
  readonly archived: boolean
  /** How the tenant stored addresses at the time of the upload. */
  readonly addresses: Addresses
  /** Lines that are not blank. */
  readonly received: number
  /** Number of chunks, counted from 1. */
  readonly chunks: number
  /** The chunk to feed next; above `chunks` when all are fed. */
  readonly next: number
  /** Name of its source. Undefined: the first source of the pipeline that makes jobs. */
  readonly source?: string | undefined
  /** See `FileFacts.sourceId`. */
  readonly sourceId?: string | undefined
}

/** How full a lane is. */
export interface LaneLevel {
  /** Events of all jobs that wait in it. */
  readonly waiting: number
  /** Events ever added to it. */
  readonly added: number
}

/**
 * A feeder's side of the store, and its lease of shares of the tenants. Every method may be repeated after a crash and acts once.
 * A feeder whose lease expired while it worked may still feed and advance the chunk that it holds; that also happens once. After a
 * loss of the connection every write rejects until the next `acquire`, because another server may lack the data that was read.
 */
export interface FeederStore extends Lease {
  /** Whether this feeder holds more than its part while other feeders wait. */
  hasSpare(): boolean
  /** Releases the spare shares. No chunk may be in flight; job lists from before the call are stale. */
  giveBack(): Promise<void>
  /** The open jobs of all tenants. */
  openJobs(): Promise<OpenJob[]>
  /** Events in the batch lane that at least one group of the pipeline has not finished. */
  eventsInLane(): Promise<LaneLevel>
  /** Events of batch jobs that wait for the archive. */
  payloadsInLane(): Promise<LaneLevel>
  /** The job's next chunk. Undefined means that data was lost. */
  readChunk(job: OpenJob): Promise<LineChunk | undefined>
  /** For a job that masks addresses. Undefined when the tenant, and so its key, no longer exists. */
  addressMask(job: OpenJob): Promise<AddressMask | undefined>
  /** The tenant's current rules; empty when the tenant no longer exists. */
  tenantRules(job: OpenJob): Promise<TenantRules>
  /**
   * Adds a chunk's blocks to the batch lane, and the counts of its other lines to the outcomes. Acts once, however often it is
   * called. Each partition takes at most one block of each kind, all in one step.
   */
  feed(job: OpenJob, reading: ChunkReading): Promise<void>
  /** Moves the job to its next chunk and adds the counts, once per chunk. Returns false when the job was cancelled. */
  advance(job: OpenJob, counts: ChunkCounts): Promise<boolean>
  /** The summary. Undefined while a fed event is still in the pipeline. */
  summaryIfFinished(job: OpenJob): Promise<BatchSummary | undefined>
  /** Returns false, and changes nothing, when the job has already ended. */
  complete(job: OpenJob, summary: BatchSummary): Promise<boolean>
  /** As `complete`. Also returns false when the job has moved past `job.next`, because another feeder fed that chunk. */
  fail(job: OpenJob, reason: string): Promise<boolean>
  /** Frees the keys of an ended job or a dead upload. */
  cleanUp(job: OpenJob): Promise<void>
}

/** Announces new jobs. */
export interface OpenedJobs {
  /** Returns at once. Calls `onOpened` when a job was opened, and when an announcement may have been missed. */
  watch(onOpened: () => void): void
  close(): void
}
