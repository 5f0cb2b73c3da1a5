import type { BatchJob, BatchJobList } from '../../../schemas/api/batch.ts'
import type { Addresses } from '../../../schemas/tenant.ts'

/** An upload on its way in. Nothing of it enters the pipeline before `complete`. */
export interface Upload {
  /** Of the job that it becomes. */
  readonly jobId: string
  /**
   * Takes bytes of the decoded body, in order; they are copied or written before it resolves. Resolves when more may
   * come: whoever reads the body pauses until then. Rejects with `UploadTooLargeError`, `UnavailableError`.
   */
  write(bytes: Buffer): Promise<void>
  /**
   * The body is whole: the job is queued, in Redis, and the number of its lines is known.
   * Rejects with `EmptyUploadError` when every line is blank.
   * @param commit is called right before there is a job; none is made when it throws, and it rejects with that
   */
  complete(commit?: () => void): Promise<{ readonly jobId: string; readonly received: number }>
  /** The body broke off, or is refused: nothing of it stays. Tolerates being called at any time, and twice. */
  abort(): Promise<void>
}

/** What is known of an upload beside its lines. */
export interface FileFacts {
  /** The name of the source that reads its lines; undefined: the first one of the pipeline that makes jobs. */
  readonly source?: string
  /** For people. */
  readonly name?: string
  /** What it may take as NDJSON. Default: what a body of the API may. */
  readonly bytesMax?: number
}

/** More lines or bytes than an upload may have. Answers 413. */
export class UploadTooLargeError extends Error {
  override name = 'UploadTooLargeError'
}

/** An upload without a line. Answers 400. */
export class EmptyUploadError extends Error {
  override name = 'EmptyUploadError'
}

/** A part of a list of jobs. */
export interface JobPage {
  /** At least 1. */
  readonly limit: number
  /** The job behind which it goes on. */
  readonly before: string | undefined
}

/** What the dashboard tells beside the answers of the API. */
export interface JobFiles {
  /** Names of the files of a tenant's own jobs; without those that have none. Rejects with `UnavailableError`. */
  fileNames(tenantId: string, jobIds: readonly string[]): Promise<ReadonlyMap<string, string>>
}

export interface BatchJobs {
  /**
   * Makes room for a job. Rejects with `BackpressureError` when the tenant has as many open jobs as it may have.
   * @param archived whether the tenant has an archive
   * @param addresses what is stored of addresses; default: all
   */
  begin(tenantId: string, archived?: boolean, addresses?: Addresses, file?: FileFacts): Promise<Upload>
  /** The job as its tenant sees it; undefined when the tenant has none of this id. */
  find(tenantId: string, jobId: string): Promise<BatchJob | undefined>
  /** The tenant's own jobs, the newest first; undefined when `before` is none of them. */
  list(tenantId: string, page: JobPage): Promise<BatchJobList | undefined>
  /**
   * Ends a job that has not ended: it is `failed`, and frees its place. What is stored stays, and what is in the pipeline is
   * still stored; the feeder feeds at most what it had in hand. Cancelled twice, it is as cancelled once.
   * @returns the job; `ended` when it ended before, otherwise; undefined when the tenant has none of this id
   */
  cancel(tenantId: string, jobId: string): Promise<BatchJob | 'ended' | undefined>
}
