import type { BatchJob } from '../../../../../schemas/api/batch.ts'
import type { Clock } from '../../../../run/clock.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { describeJob, RECORD_TTL_MS, readProgress } from './job-record.ts'

/** A job that has ended, with the name of its file. */
export interface EndedUpload extends BatchJob {
  readonly file_name: string | null
}

/** A job that was released. */
interface EndedJob {
  readonly jobId: string
  /** When it was released, milliseconds. */
  readonly releasedMs: number
}

/** A place in the list of jobs that were released. */
export interface EndedPlace {
  /** Milliseconds. */
  readonly atMs: number
  /** Number of jobs of this millisecond that lie before it. */
  readonly skip: number
}

interface EndedPage {
  /** Jobs of the tenant, in the order in which they were released; at most 200. */
  readonly jobs: readonly EndedJob[]
  readonly next: EndedPlace
  /** The end of the list was reached. */
  readonly isLast: boolean
}

/** Entries of the list that are read at once, and in one page. */
const PER_CALL = 1_000
const LOOKED_AT_MAX = 20_000
/** Each is read, and becomes a message. */
const JOBS_MAX = 200

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
   * Goes on in the list of the jobs that were released, which has those of all tenants; a job is released a moment after its end. Looks at a
   * bounded number of them.
   * @param from at most 7 days ago
   */
  async page(tenantId: string, from: EndedPlace): Promise<EndedPage> {
    const jobs: EndedJob[] = []
    let { atMs, skip } = from
    for (let looked = 0; looked < LOOKED_AT_MAX; looked += PER_CALL) {
      const range = [atMs + RECORD_TTL_MS, '+inf', 'WITHSCORES', 'LIMIT', skip, PER_CALL] as const
      const found = await this.#client.zrangebyscore(keys.endedBatches(), ...range)
      for (let i = 0; i < found.length; i += 2) {
        const releasedMs = Number(found[i + 1]) - RECORD_TTL_MS
        skip = releasedMs === atMs ? skip + 1 : 1
        atMs = releasedMs
        const [tenant, jobId = ''] = found[i]!.split(' ')
        if (tenant !== tenantId) continue
        jobs.push({ jobId, releasedMs })
        if (jobs.length === JOBS_MAX) return { jobs, next: { atMs, skip }, isLast: false }
      }
      if (found.length < 2 * PER_CALL) return { jobs, next: { atMs, skip }, isLast: true }
    }
    return { jobs, next: { atMs, skip }, isLast: false }
  }

  /** Undefined: it is the job of a source, or its record has expired. */
  async read(tenantId: string, jobId: string): Promise<EndedUpload | undefined> {
    const progress = await readProgress(this.#client, this.#partitions, jobId)
    const record = await this.#client.hgetall(keys.job(jobId))
    if (record.tenant_id !== tenantId || record.source !== undefined || record.source_id !== undefined) return undefined
    return { ...describeJob(jobId, record, progress, this.#clock.now()), file_name: record.file_name ?? null }
  }
}
