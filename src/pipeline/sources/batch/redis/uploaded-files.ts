import { UnavailableError } from '../../../../run/errors.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { loadScript } from '../../../../stores/redis/scripts.ts'
import type { UploadedFiles } from '../uploaded-files.ts'
import { RECORD_TTL_MS } from './job-record.ts'

const claimFileScript = loadScript(import.meta.url, './claimFile-1.lua')

/** A key for each file of a tenant, which names the job that has it, and expires. */
export class RedisUploadedFiles implements UploadedFiles {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async claim(tenantId: string, digest: string, jobId: string, known = ''): Promise<string | undefined> {
    try {
      for (let replaced = known; ; ) {
        const args = [jobId, replaced, RECORD_TTL_MS]
        const holder = String(await claimFileScript.run(this.#client, [keys.uploadedFile(tenantId, digest)], args))
        if (holder === '') return undefined
        if (await this.#isThere(holder)) return holder
        replaced = holder
      }
    } catch (error) {
      throw new UnavailableError('the event store did not answer', { cause: error })
    }
  }

  /** An upload that died never becomes a job. */
  async #isThere(jobId: string): Promise<boolean> {
    // The upload's key goes when the record comes, in one step: asked in this order, one of them is seen.
    return (await this.#client.exists(keys.upload(jobId))) + (await this.#client.exists(keys.job(jobId))) > 0
  }
}
