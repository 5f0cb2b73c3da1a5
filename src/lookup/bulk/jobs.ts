import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { type BatchStatus, IDEMPOTENCY } from '../../../schemas/api/batch.ts'
import { BULK_LIMITS } from '../../../schemas/api/bulk.ts'
import { keyInUse } from '../../http/route/idempotency.ts'
import { BackpressureError, UnavailableError } from '../../run/errors.ts'
import { claimName, giveUpName } from '../../stores/redis/claimed-name.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { BulkFacts, BulkJobState, BulkJobs, BulkReservation, BulkWork, RepeatedBulk } from '../bulk.ts'

const answered = answeredOr('the job store did not answer')

interface RedisBulkJobsOptions {
  /** A connection of kind `request`. */
  readonly client: RedisClient
  /** Jobs that a tenant may have queued or running. */
  readonly openMax: number
  /** Bytes of ended jobs from which a tenant gets no further one. Default: `BULK_LIMITS.keptBytesMax`. */
  readonly keptBytesMax?: number
}

/** An unused reservation expires after this. */
const RESERVATION_MS = 10_000
const RETRY_AFTER_SECONDS = 5
const KEY_TTL_MS = IDEMPOTENCY.hours * 3_600_000
const JOB_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const reserveBulkJobScript = loadScript(import.meta.url, './reserveBulkJob-3.lua')
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

  async reserve(tenantId: string, key?: string): Promise<BulkReservation> {
    const { client, openMax, keptBytesMax = BULK_LIMITS.keptBytesMax } = this.#options
    const jobId = randomUUID()
    const open = keys.openBulkJobsOf(tenantId)
    const names = [open, keys.endedBulkJobsOf(tenantId), keys.bulkBytesOf(tenantId)]
    const args = [jobId, openMax, RESERVATION_MS, keptBytesMax]
    const reserved = Number(await answered(reserveBulkJobScript.run(client, names, args)))
    if (reserved < 0) {
      const kept = `results of bulk lookup jobs take ${keptBytesMax / 2 ** 20} MiB already, and are kept for 24 hours`
      throw new BackpressureError(kept, Math.ceil(-reserved / 1_000), 'jobs')
    }
    if (reserved === 0) {
      throw new BackpressureError(
        `${openMax} bulk lookup jobs are queued or running already`,
        RETRY_AFTER_SECONDS,
        'jobs',
      )
    }
    // The reservation above has removed those that expired, so a job whose claim is replaced here is never queued.
    if (key !== undefined && !(await this.#claim(tenantId, key, jobId))) {
      await answered(client.zrem(open, jobId))
      throw keyInUse()
    }
    let mayBeQueued = false
    return {
      jobId,
      queue: async (work, facts) => {
        // A fail-over may have lost the claim, and another request has the key.
        if (key !== undefined && !(await this.#claim(tenantId, key, jobId))) throw keyInUse()
        mayBeQueued = true
        await this.#queue(jobId, work, facts)
      },
      release: async () => {
        // A job that may be queued keeps its slot: the worker that ends it frees the slot.
        if (mayBeQueued) return
        await answered(client.zrem(open, jobId))
        if (key !== undefined) await answered(giveUpName(client, keys.idempotencyKey(tenantId, 'bulk', key), jobId))
      },
    }
  }

  #claim(tenantId: string, key: string, jobId: string): Promise<boolean> {
    const { client } = this.#options
    const exists = async (id: string) => (await this.#state(tenantId, id)) !== 'gone'
    const name = keys.idempotencyKey(tenantId, 'bulk', key)
    return answered(async () => (await claimName(client, name, jobId, { ttlMs: KEY_TTL_MS, exists })) === undefined)
  }

  /** `gone`: a reservation that has expired, or a job whose results have. */
  async #state(tenantId: string, jobId: string): Promise<'reserved' | 'a job' | 'gone'> {
    const { client } = this.#options
    // A reservation stays until its job has ended. In this order, at least one of the two is found.
    const reserved = await client.zscore(keys.openBulkJobsOf(tenantId), jobId)
    if ((await client.exists(keys.bulkJob(jobId))) === 1) return 'a job'
    return reserved === null ? 'gone' : 'reserved'
  }

  async repeated(tenantId: string, key: string): Promise<RepeatedBulk | 'receiving' | undefined> {
    const { client } = this.#options
    return answered(async () => {
      const jobId = await client.get(keys.idempotencyKey(tenantId, 'bulk', key))
      if (jobId === null) return undefined
      const state = await this.#state(tenantId, jobId)
      if (state === 'a job') {
        const fingerprint = (await client.hget(keys.bulkJob(jobId), 'fingerprint')) ?? ''
        // The process that queued it may have ended before the job was on disk.
        await persisted(client)
        return { jobId, fingerprint }
      }
      const until = Number(await client.zscore(keys.openBulkJobsOf(tenantId), jobId))
      return state === 'reserved' && until > Date.now() ? 'receiving' : undefined
    })
  }

  async #queue(jobId: string, work: BulkWork, { label, fingerprint }: BulkFacts = {}): Promise<void> {
    const { tenantId: tenant, ips, choices } = work
    const record = {
      ...{ tenant, status: 'queued', current: 0, total: ips.length, work: JSON.stringify({ ips, choices }) },
      ...(label !== undefined && { label }),
      ...(fingerprint !== undefined && { fingerprint }),
    }
    const names = [keys.bulkJob(jobId), keys.bulkJobs(), keys.openBulkJobsOf(tenant)]
    const { client } = this.#options
    const queued = async () => {
      const isQueued = await queueBulkJobScript.run(client, names, [jobId, tenant, ...Object.entries(record).flat()])
      if (isQueued === 0) throw new UnavailableError('the request took too long: send it again')
      await persisted(client)
    }
    const run = () => answered(queued())
    // Repeating it changes nothing, so try once more after a lost answer.
    await run().catch(run)
  }

  async find(tenantId: string, jobId: string): Promise<BulkJobState | undefined> {
    if (!JOB_ID.test(jobId)) return undefined
    const { client } = this.#options
    const fields = ['tenant', 'status', 'current', 'total', 'results', 'label']
    const [tenant, status, current, total, results, label] = await answered(
      client.hmgetBuffer(keys.bulkJob(jobId), ...fields),
    )
    if (tenant?.toString() !== tenantId) return undefined
    // A power failure must not undo it.
    await answered(persisted(client))
    return {
      status: String(status) as BatchStatus,
      current: Number(current),
      total: Number(total),
      label: label?.toString(),
      lines: results ? (await unzip(results)).toString() : undefined,
    }
  }
}
