import { HttpError } from '../../../http/engine/http-error.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import { type BatchJobs, EmptyUploadError, type FileFacts, UploadTooLargeError } from '../../declaration/batch-jobs.ts'

export interface UploadSteps {
  /** Called when all lines are kept, before there is a job. None is made when it rejects. */
  readonly whole?: (jobId: string) => Promise<void>
  /** See `Upload.complete`. */
  readonly commit: () => void
  readonly file?: FileFacts
}

/**
 * Keeps an upload line by line while it arrives; it becomes a job when it is whole. Nothing of it stays otherwise.
 * @param pieces NDJSON, no faster than it is taken; rejects when the upload breaks off
 * @throws HttpError 400 or 413; what `BatchJobs`, `pieces` and the steps reject with
 */
export async function receiveUpload(
  jobs: BatchJobs,
  { id, archive, addresses }: Tenant,
  pieces: AsyncIterable<Buffer>,
  { whole, commit, file }: UploadSteps,
): Promise<{ readonly jobId: string; readonly received: number }> {
  const upload = await jobs.begin(id, archive, addresses, file)
  try {
    for await (const bytes of pieces) await upload.write(bytes)
    await whole?.(upload.jobId)
    return await upload.complete(commit)
  } catch (error) {
    // What cannot be removed now expires; the client is told why the upload failed.
    await upload.abort().catch(() => {})
    if (error instanceof UploadTooLargeError) throw new HttpError(413, error.message)
    if (error instanceof EmptyUploadError) throw new HttpError(400, error.message)
    throw error
  }
}
