import type { BatchJob, BatchJobList, BatchStatus } from '../../../schemas/api/batch.ts'
import type { Addresses } from '../../../schemas/tenant.ts'

/** An upload in progress. Nothing of it enters the pipeline before `complete`. */
export interface Upload {
  /** Id of the job that it becomes. */
  readonly jobId: string
  /**
   * Takes bytes of the decoded body, in order. Resolves when they are copied or written and more may come; the caller must not
   * read on before. Rejects with `UploadTooLargeError` or `UnavailableError`.
   */
  write(bytes: Buffer): Promise<void>
  /**
   * Ends the body and queues the job in Redis. `received` is the number of lines. Rejects with `EmptyUploadError` when every line
   * is blank, and with `HttpError` 409 when another upload has taken its idempotency key, which a fail-over of Redis had lost.
   * @param commit called right before the job is created; if it throws, `complete` rejects with that error and creates no job
   * @param fingerprint of the request, for an upload with an idempotency key: see `RepeatedUpload`
   */
  complete(commit?: () => void, fingerprint?: string): Promise<{ readonly jobId: string; readonly received: number }>
  /** Discards the upload. May be called at any time, and repeatedly. */
  abort(): Promise<void>
}

/** Facts about an upload other than its lines. */
export interface FileFacts {
  /** Name of the source that reads its lines. Undefined: the first source of the pipeline that makes jobs. */
  readonly source?: string
  /** The source whose key brought the upload. Events of it without an address count as `no_ip`. Undefined: an API key did. */
  readonly sourceId?: string | undefined
  /** Name of the file, for people. */
  readonly name?: string
  /** The caller's name for the job. */
  readonly label?: string | undefined
  /** SHA-256 of the `Idempotency-Key` of its request. */
  readonly idempotencyKey?: string | undefined
  /** Leaves the key `jobReceipt` with the job, which its maker deletes. It tells for ever that the job was created. Default: false. */
  readonly leavesReceipt?: boolean
  /** Begins only while fewer than half of the jobs of its tenant are open, so that its own uploads find room. One may always be. */
  readonly leavesRoom?: boolean
  /** Largest size as NDJSON. Default: the limit of the API. */
  readonly bytesMax?: number
}

/** The upload that became a job under an idempotency key. */
export interface RepeatedUpload {
  readonly jobId: string
  readonly received: number
  /** Digest of its body and options. */
  readonly fingerprint: string
}

/** The upload has too many lines or bytes. Answers 413. */
export class UploadTooLargeError extends Error {
  override name = 'UploadTooLargeError'
}

/** The upload has no line. Answers 400. */
export class EmptyUploadError extends Error {
  override name = 'EmptyUploadError'
}

/** A page of a list of jobs. */
export interface JobPage {
  /** At least 1. */
  readonly limit: number
  /** The page starts after this job. */
  readonly before: string | undefined
  /** Lists only jobs with this status. */
  readonly status?: BatchStatus | undefined
  /** Lists only jobs with this label. */
  readonly label?: string | undefined
}

/** Facts about jobs that only the dashboard shows. */
export interface JobFiles {
  /** File names by job id, for jobs of the tenant that have one. Rejects with `UnavailableError`. */
  fileNames(tenantId: string, jobIds: readonly string[]): Promise<ReadonlyMap<string, string>>
}

/** Jobs that ipid makes by itself for a tenant. */
export interface BackgroundJobs extends Pick<BatchJobs, 'begin'> {
  /** Why no upload with `leavesRoom` can begin now. Undefined: one can. */
  fullBecause(tenantId: string, archived?: boolean): Promise<string | undefined>
}

/** The rejected lines of a job. */
export interface RejectedOfJob {
  /** Number of lines in `pieces`. */
  readonly kept: number
  /** Whether the job has ended, and these are all of its rejected lines and lines with an invalid address. */
  readonly complete: boolean
  /** NDJSON of `RejectedLine`, at most 65,536 characters a piece. Read it once. Throws when Redis does not answer, or they expire meanwhile. */
  readonly pieces: AsyncIterable<string>
}

export interface BatchJobs {
  /**
   * Starts an upload. Rejects with `BackpressureError` when the tenant has too many open jobs, and with `HttpError` 409 when another request
   * with its idempotency key came first.
   * @param archived whether the tenant has an archive
   * @param addresses how addresses are stored; default: in full
   */
  begin(tenantId: string, archived?: boolean, addresses?: Addresses, file?: FileFacts): Promise<Upload>
  /**
   * The job as its tenant sees it. Undefined when the tenant has no job of this id.
   * @param sourceId only a job of this source
   */
  find(tenantId: string, jobId: string, sourceId?: string): Promise<BatchJob | undefined>
  /**
   * The job that an earlier request with this idempotency key has become, in Redis and on disk. `receiving`: the request is still being
   * received, or its process ended less than `UPLOAD_TTL_MS` ago. Undefined: there was none, or it left nothing.
   * @param key SHA-256 of the key
   */
  repeated(tenantId: string, key: string): Promise<RepeatedUpload | 'receiving' | undefined>
  /**
   * The tenant's jobs, newest first. Undefined when `before` is not a job of the tenant. With a status or a label, a page may have fewer jobs
   * than its limit, or none, and not be the last one.
   */
  list(tenantId: string, page: JobPage): Promise<BatchJobList | undefined>
  /**
   * The rejected lines of a job so far. Undefined when the tenant has no job of this id; `expired` when they are no longer kept.
   */
  rejected(tenantId: string, jobId: string): Promise<RejectedOfJob | 'expired' | undefined>
  /**
   * Cancels a job: it becomes `failed` and is no longer open. Stored events stay, and events in the pipeline are still stored. The
   * feeder adds at most the chunks in flight. May be repeated.
   * @returns the job; `ended` when it had ended in another way; undefined when the tenant has no job of this id
   */
  cancel(tenantId: string, jobId: string): Promise<BatchJob | 'ended' | undefined>
}
