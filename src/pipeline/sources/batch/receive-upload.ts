import { HttpError } from '../../../http/engine/http-error.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import { type BatchJobs, EmptyUploadError, type FileFacts, UploadTooLargeError } from '../../declaration/batch-jobs.ts'

interface UploadSteps {
  /** Called when all lines are stored and the job does not exist yet. If it rejects, no job is created. */
  readonly whole?: (jobId: string) => Promise<void>
  /** See `Upload.complete`. */
  readonly commit: () => void
  readonly file?: FileFacts
  /** See `Upload.complete`. Called after the last byte. */
  readonly fingerprint?: () => string
}

/**
 * Stores an upload line by line as it arrives, and turns it into a job at the end. After a failure nothing of it is kept.
 * @param pieces NDJSON, read only as fast as Redis takes it; rejects when the upload breaks off
 * @throws HttpError 400 or 413, and any error of `BatchJobs`, `pieces` and the steps
 */
export async function receiveUpload(
  jobs: BatchJobs,
  { id, archive, addresses }: Tenant,
  pieces: AsyncIterable<Buffer>,
  { whole, commit, file, fingerprint }: UploadSteps,
): Promise<{ readonly jobId: string; readonly received: number }> {
  const upload = await jobs.begin(id, archive, addresses, file)
  try {
    for await (const bytes of pieces) await upload.write(bytes)
    await whole?.(upload.jobId)
    return await upload.complete(commit, fingerprint?.())
  } catch (error) {
    // Keys that cannot be deleted now will expire. The client gets the first error.
    await upload.abort().catch(() => {})
    if (error instanceof UploadTooLargeError) throw new HttpError('body_too_large', error.message)
    if (error instanceof EmptyUploadError) throw new HttpError('no_events', error.message)
    throw error
  }
}
