import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { answeredOr } from '../../../../stores/redis/errors.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { loadScript } from '../../../../stores/redis/scripts.ts'
import { RECORD_TTL_MS } from './job-record.ts'

const claimFileScript = loadScript(import.meta.url, './claimFile-1.lua')
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
    return answered(async () => {
      for (let replaced = known; ; ) {
        const args = [jobId, replaced, RECORD_TTL_MS]
        const holder = String(await claimFileScript.run(this.#client, [keys.uploadedFile(tenantId, digest)], args))
        if (holder === '') return undefined
        if (await this.#exists(holder)) return holder
        replaced = holder
      }
    })
  }

  /** False for a dead upload: it never became a job. */
  async #exists(jobId: string): Promise<boolean> {
    // One script deletes the upload's key and writes the record. In this order, at least one of the two is found.
    return (await this.#client.exists(keys.upload(jobId))) + (await this.#client.exists(keys.job(jobId))) > 0
  }
}
