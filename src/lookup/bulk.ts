import type { BatchStatus } from '../../schemas/api/batch.ts'
import type { LookupChoices } from '../../schemas/api/lookup.ts'

/** The input of a bulk lookup job. */
export interface BulkWork {
  readonly tenantId: string
  readonly ips: readonly string[]
  readonly choices: LookupChoices
}

/** Facts about a job other than its input. */
export interface BulkFacts {
  /** The caller's name for the job. */
  readonly label?: string | undefined
  /** Digest of the request, for one with an idempotency key. */
  readonly fingerprint?: string | undefined
}

/** The job of an earlier request with the same idempotency key. */
export interface RepeatedBulk {
  readonly jobId: string
  readonly fingerprint: string
}

/** A reserved slot among the jobs that a tenant may have open. */
export interface BulkReservation {
  readonly jobId: string
  /**
   * Queues the job in Redis. Rejects with `UnavailableError`; the job may be queued even then. A reservation that has expired queues nothing,
   * and one whose idempotency key another request has: `HttpError` 409.
   */
  queue(work: BulkWork, facts?: BulkFacts): Promise<void>
  /** Frees the slot and the idempotency key when there will be no job. An unused reservation expires by itself. */
  release(): Promise<void>
}

/** A job as its tenant sees it. */
export interface BulkJobState {
  readonly status: BatchStatus
  /** Finished addresses; never decreases. */
  readonly current: number
  readonly total: number
  /** Lines of JSON, one for each address in their order, ended by `\n`; undefined until the job is completed. */
  readonly lines: string | undefined
  /** The caller's name for it. */
  readonly label: string | undefined
}

/** Bulk lookup jobs as callers see them. */
export interface BulkJobs {
  /**
   * Rejects with `BackpressureError` when the tenant's limit of open jobs is reached, with `HttpError` 409 when another request with the
   * idempotency key came first, or with `UnavailableError`.
   * @param key SHA-256 of its idempotency key
   */
  reserve(tenantId: string, key?: string): Promise<BulkReservation>
  /**
   * The job that an earlier request with this idempotency key has queued, in Redis and on disk. `receiving`: that request has no answer yet, or
   * its process ended a moment ago. Undefined: there was none, or it left nothing.
   */
  repeated(tenantId: string, key: string): Promise<RepeatedBulk | 'receiving' | undefined>
  /** Undefined when the tenant has no job of this id, or its results have expired. */
  find(tenantId: string, jobId: string): Promise<BulkJobState | undefined>
}

/** A job that was given to a worker. Another worker gets it when this one does not report for some time. */
export interface BulkDelivery {
  readonly jobId: string
  readonly work: BulkWork
  /** How often the job was given to a worker, including this time. */
  readonly deliveries: number
}

/** Bulk lookup jobs as a worker sees them. All methods reject when Redis does not answer. */
export interface BulkQueue {
  /**
   * Returns at most `max` jobs. Waits some seconds for the first; about one second without a signal. Never returns a job
   * that is in progress here.
   */
  take(max: number, signal?: AbortSignal): Promise<readonly BulkDelivery[]>
  /**
   * Reports that the job is alive, with the number of finished addresses. False when another worker has taken it: stop
   * working on it.
   */
  advance(job: BulkDelivery, current: number): Promise<boolean>
  /** Stores the results and ends the job atomically. False when another worker has done so before; nothing changes then. */
  complete(job: BulkDelivery, lines: string): Promise<boolean>
  /** Ends the job without results. False as with `complete`. */
  fail(job: BulkDelivery): Promise<boolean>
  /** Ends work on the job in this process. Another one may take it. */
  abandon(job: BulkDelivery): void
  /** Call it when no `take` is in progress. */
  close(): Promise<void>
}
