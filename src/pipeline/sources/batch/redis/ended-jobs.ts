import type { BatchJob } from '../../../../../schemas/api/batch.ts'
import type { Clock } from '../../../../run/clock.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { describeJob, RECORD_TTL_MS, readProgress } from './job-record.ts'

/** A job that has ended, with the name of its file. */
export interface EndedUpload extends BatchJob {
  readonly file_name: string | null
}

/** Jobs of a page. */
const PER_CALL = 1_000

/** Jobs that have ended, for those who report them. Jobs of sources are left out: ipid makes them, often every few minutes. */
export class EndedJobs {
  readonly #client: RedisClient
  readonly #partitions: number
  readonly #clock: Clock

  constructor(client: RedisClient, partitions: number, clock: Clock) {
    this.#client = client
    this.#partitions = partitions
    this.#clock = clock
  }

  /**
   * The jobs of tenants that were released since a time, at most 7 days ago; a job is released a moment after its end. All tenants have one
   * list, by that time.
   * @returns ids by tenant, and the time of the last of all tenants, milliseconds
   */
  async since(
    sinceMs: number,
  ): Promise<{ readonly byTenant: ReadonlyMap<string, readonly string[]>; readonly untilMs: number }> {
    const byTenant = new Map<string, string[]>()
    let untilMs = sinceMs
    for (let at = 0; ; at += PER_CALL) {
      const limit = ['LIMIT', at, PER_CALL] as const
      const found = await this.#client.zrangebyscore(
        keys.endedBatches(),
        sinceMs + RECORD_TTL_MS,
        '+inf',
        'WITHSCORES',
        ...limit,
      )
      for (let i = 0; i < found.length; i += 2) {
        const [tenantId = '', jobId = ''] = found[i]!.split(' ')
        byTenant.set(tenantId, [...(byTenant.get(tenantId) ?? []), jobId])
        untilMs = Math.max(untilMs, Number(found[i + 1]) - RECORD_TTL_MS)
      }
      if (found.length < 2 * PER_CALL) return { byTenant, untilMs }
    }
  }

  /** Undefined: it is the job of a source, or its record has expired. */
  async read(tenantId: string, jobId: string): Promise<EndedUpload | undefined> {
    const progress = await readProgress(this.#client, this.#partitions, jobId)
    const record = await this.#client.hgetall(keys.job(jobId))
    if (record.tenant_id !== tenantId || record.source !== undefined || record.source_id !== undefined) return undefined
    return { ...describeJob(jobId, record, progress, this.#clock.now()), file_name: record.file_name ?? null }
  }
}
