import type { BatchStatus } from '../../schemas/api/batch.ts'
import type { LookupChoices } from '../../schemas/api/lookup.ts'

/** What a bulk lookup job is to do. */
export interface BulkWork {
  readonly tenantId: string
  readonly ips: readonly string[]
  readonly choices: LookupChoices
}

/** A place for a job among those that its tenant may have open. */
export interface BulkReservation {
  readonly jobId: string
  /** The job is queued, in Redis, and will be done. Rejects with `UnavailableError`; it may be queued even then. */
  queue(work: BulkWork): Promise<void>
  /** Gives the place back, when there will be no job. One that is neither used nor given back ends by itself. */
  release(): Promise<void>
}

/** A job as its tenant sees it. */
export interface BulkJobState {
  readonly status: BatchStatus
  /** Addresses that are finished: never goes down. */
  readonly current: number
  readonly total: number
  /** Lines of JSON, one for each address in their order, ended by `\n`; undefined until the job is completed. */
  readonly lines: string | undefined
}

/** Bulk lookup jobs as callers see them. */
export interface BulkJobs {
  /** Rejects with `BackpressureError` when the tenant has as many open jobs as it may have, or `UnavailableError`. */
  reserve(tenantId: string): Promise<BulkReservation>
  /** Undefined when the tenant has no job of this id, or its results are not kept any more. */
  find(tenantId: string, jobId: string): Promise<BulkJobState | undefined>
}

/** A job that a worker was given. It is given to another one when it is not heard of for some time. */
export interface BulkDelivery {
  readonly jobId: string
  readonly work: BulkWork
  /** How often the job was given to a worker, this time included. */
  readonly deliveries: number
}

/** Bulk lookup jobs as a worker sees them. All methods reject when Redis does not answer. */
export interface BulkQueue {
  /**
   * Gives at most `max` jobs, and waits some seconds for the first, or about one without a signal to end it. None that is in hand is
   * given again.
   */
  take(max: number, signal?: AbortSignal): Promise<readonly BulkDelivery[]>
  /**
   * The job is alive, with so many addresses finished. False when another worker has it meanwhile: then it is not ours
   * to go on with.
   */
  advance(job: BulkDelivery, current: number): Promise<boolean>
  /** Stores the results and ends the job, as one. False when another worker has done so before; nothing changes then. */
  complete(job: BulkDelivery, lines: string): Promise<boolean>
  /** Ends the job without results. False as with `complete`. */
  fail(job: BulkDelivery): Promise<boolean>
  /** The job is not worked on any more, whoever takes it next. */
  letGo(job: BulkDelivery): void
  /** To be called when nothing is being taken. */
  close(): Promise<void>
}
