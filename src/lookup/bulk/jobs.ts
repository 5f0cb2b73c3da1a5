import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { BatchStatus } from '../../../schemas/api/batch.ts'
import { BackpressureError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { BulkJobState, BulkJobs, BulkReservation, BulkWork } from '../bulk.ts'

const answered = answeredOr('the job store did not answer')

interface RedisBulkJobsOptions {
  /** A connection of kind `request`. */
  readonly client: RedisClient
  /** Jobs that a tenant may have queued or running. */
  readonly openMax: number
}

/** An unused reservation expires after this. */
const RESERVATION_MS = 10_000
const RETRY_AFTER_SECONDS = 5
const JOB_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const reserveBulkJobScript = loadScript(import.meta.url, './reserveBulkJob-1.lua')
const queueBulkJobScript = loadScript(import.meta.url, './queueBulkJob-3.lua')
const unzip = promisify(gunzip)

/**
 * Bulk lookup jobs in Redis, as callers see them. A job is a hash with `tenant`, `status`, `current`, `total`, and until it
 * ends `work` (JSON), afterwards `results` (gzip of the lines). Until it ends it also has an entry in a stream.
 */
export class RedisBulkJobs implements BulkJobs {
  readonly #options: RedisBulkJobsOptions

  constructor(options: RedisBulkJobsOptions) {
    this.#options = options
  }

  async reserve(tenantId: string): Promise<BulkReservation> {
    const { client, openMax } = this.#options
    const jobId = randomUUID()
    const open = keys.openBulkJobsOf(tenantId)
    const reserved = await answered(reserveBulkJobScript.run(client, [open], [jobId, openMax, RESERVATION_MS]))
    if (reserved === 0) {
      throw new BackpressureError(
        `${openMax} bulk lookup jobs are queued or running already`,
        RETRY_AFTER_SECONDS,
        'jobs',
      )
    }
    let mayBeQueued = false
    return {
      jobId,
      queue: async (work) => {
        mayBeQueued = true
        await this.#queue(jobId, work)
      },
      release: async () => {
        // A job that may be queued keeps its slot: the worker that ends it frees the slot.
        if (!mayBeQueued) await answered(client.zrem(open, jobId))
      },
    }
  }

  async #queue(jobId: string, work: BulkWork): Promise<void> {
    const { tenantId: tenant, ips, choices } = work
    const record = { tenant, status: 'queued', current: 0, total: ips.length, work: JSON.stringify({ ips, choices }) }
    const names = [keys.bulkJob(jobId), keys.bulkJobs(), keys.openBulkJobsOf(tenant)]
    const { client } = this.#options
    const queued = async () => {
      await queueBulkJobScript.run(client, names, [jobId, tenant, ...Object.entries(record).flat()])
      await persisted(client)
    }
    const run = () => answered(queued())
    // Repeating it changes nothing, so try once more after a lost answer.
    await run().catch(run)
  }

  async find(tenantId: string, jobId: string): Promise<BulkJobState | undefined> {
    if (!JOB_ID.test(jobId)) return undefined
    const { client } = this.#options
    const fields = ['tenant', 'status', 'current', 'total', 'results']
    const [tenant, status, current, total, results] = await answered(client.hmgetBuffer(keys.bulkJob(jobId), ...fields))
    if (tenant?.toString() !== tenantId) return undefined
    // A power failure must not undo it.
    await answered(persisted(client))
    return {
      status: String(status) as BatchStatus,
      current: Number(current),
      total: Number(total),
      lines: results ? (await unzip(results)).toString() : undefined,
    }
  }
}
