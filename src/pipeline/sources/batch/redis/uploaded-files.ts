import { claimName } from '../../../../stores/redis/claimed-name.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { answeredOr } from '../../../../stores/redis/errors.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { RECORD_TTL_MS } from './job-record.ts'

const answered = answeredOr('the event store did not answer')

/**
 * Remembers which files a tenant has uploaded: one key per file holds its job, and expires with the job's record. Without it, a
 * second upload of a file would count its lines again when they have no `event_id`.
 */
export class UploadedFiles {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  /**
   * Claims a file for a job, before the job exists.
   * @param digest of the file's bytes
   * @param known a job that the caller knows to hold the file; this job may replace it
   * @returns undefined when the claim succeeded, else the job that holds the file
   * @throws UnavailableError
   */
  claim(tenantId: string, digest: string, jobId: string, known = ''): Promise<string | undefined> {
    const client = this.#client
    const exists = async (id: string) => (await uploadState(client, id)) !== 'gone'
    const key = keys.uploadedFile(tenantId, digest)
    return answered(() => claimName(client, key, jobId, { ttlMs: RECORD_TTL_MS, known, exists }))
  }
}

/** `gone`: a dead upload, which never becomes a job, or a job whose record has expired. */
export async function uploadState(client: RedisClient, jobId: string): Promise<'uploading' | 'a job' | 'gone'> {
  // One script deletes the upload's key and writes the record. In this order, at least one of the two is found.
  const isUploading = (await client.exists(keys.upload(jobId))) === 1
  if ((await client.exists(keys.job(jobId))) === 1) return 'a job'
  return isUploading ? 'uploading' : 'gone'
}
