import { randomUUID } from 'node:crypto'
import { type BatchJob, type BatchJobList, IDEMPOTENCY, type ListedBatchJob } from '../../../../../schemas/api/batch.ts'
import type { Addresses } from '../../../../../schemas/tenant.ts'
import { HttpError } from '../../../../http/engine/http-error.ts'
import { keyInUse } from '../../../../http/route/idempotency.ts'
import type { Clock } from '../../../../run/clock.ts'
import { BackpressureError } from '../../../../run/errors.ts'
import { claimName, giveUpName } from '../../../../stores/redis/claimed-name.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { persisted } from '../../../../stores/redis/durability/persisted.ts'
import { answeredOr } from '../../../../stores/redis/errors.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { loadScript } from '../../../../stores/redis/scripts.ts'
import type {
  BackgroundJobs,
  BatchJobs,
  FileFacts,
  JobFiles,
  JobPage,
  RejectedOfJob,
  RepeatedUpload,
  Upload,
} from '../../../declaration/batch-jobs.ts'
import {
  CANCELLED,
  describeJob,
  freeJob,
  RECORD_TTL_MS,
  readProgress,
  rejectedLinesOf,
  releaseJob,
} from './job-record.ts'
import { keptPieces } from './kept-lines.ts'
import { UPLOAD_TTL_MS, UploadSpool } from './upload-spool.ts'
import { uploadState } from './uploaded-files.ts'

interface RedisBatchJobsOptions {
  /** A connection of kind `request`. Not the one of live events: uploads would delay them. */
  readonly client: RedisClient
  readonly partitions: number
  /** Most jobs that a tenant may have queued or running. */
  readonly openMax: number
  /** Most bytes that the open jobs of a tenant may hold, compressed. Default: 256 MiB. */
  readonly spoolBytesMax?: number
  readonly deadlineMs: number
  readonly clock: Clock
  /** Why intake is closed for a tenant with or without an archive. Undefined while it is open. */
  readonly closedBecause: (archived: boolean) => string | undefined
}

const RETRY_AFTER_SECONDS = 10
const KEY_TTL_MS = IDEMPOTENCY.hours * 3_600_000
/** Jobs that one call of `list` looks at. With a filter, few of them may be listed. */
const LOOKED_AT_MAX = 1_000
const answered = answeredOr('the event store did not answer')
const reserveJobScript = loadScript(import.meta.url, './reserveJob-3.lua')
const cancelJobScript = loadScript(import.meta.url, './cancelJob-1.lua')

export class RedisBatchJobs implements BatchJobs, BackgroundJobs, JobFiles {
  readonly #options: RedisBatchJobsOptions

  constructor(options: RedisBatchJobsOptions) {
    this.#options = options
  }

  async begin(
    tenantId: string,
    archived = false,
    addresses: Addresses = 'full',
    file: FileFacts = {},
  ): Promise<Upload> {
    const { client, deadlineMs, clock, closedBecause, spoolBytesMax = 2 ** 28 } = this.#options
    const openMax = this.#openMax(file)
    const reason = closedBecause(archived)
    if (reason !== undefined) throw new BackpressureError(reason)
    const jobId = randomUUID()
    const receivedAtMs = clock.now()
    const reserved = await answered(async () => {
      // The key comes first: a feeder treats an open job without one as a dead upload.
      await client.set(keys.upload(jobId), 0, 'PX', UPLOAD_TTL_MS)
      const result = await reserveJobScript.run(
        client,
        [keys.openJobs(), keys.openJobsOf(tenantId), keys.batchesOf(tenantId)],
        [jobId, tenantId, openMax, receivedAtMs, keys.jobsOpened()],
      )
      if (result === 0) await client.del(keys.upload(jobId))
      return result
    })
    if (reserved === 0) throw new BackpressureError(fullText(openMax), RETRY_AFTER_SECONDS, 'jobs')
    const { idempotencyKey: key } = file
    const release = async () => {
      await releaseJob(client, tenantId, jobId, 'no job')
      if (key !== undefined) await giveUpName(client, keys.idempotencyKey(tenantId, 'batch', key), jobId)
    }
    const claim = async () => {
      if (key !== undefined && !(await this.#claim(tenantId, key, jobId))) throw keyInUse()
    }
    try {
      await claim()
    } catch (error) {
      if (error instanceof HttpError) {
        await answered(async () => {
          await client.del(keys.upload(jobId))
          await release()
        })
      }
      throw error
    }
    const context = { tenantId, archived, receivedAtMs }
    return new UploadSpool({
      ...{ client, jobId, context, addresses, file, deadlineMs, claim, release, spoolBytesMax, closedBecause },
    })
  }

  /**
   * Claims an idempotency key for an upload, before its first byte, and again before it becomes a job: a fail-over may have lost the claim. It is
   * worth something only while the upload lives or once it is a job, and a dead upload never becomes a job. So of all uploads with one key, at
   * most one does.
   */
  #claim(tenantId: string, key: string, jobId: string): Promise<boolean> {
    const { client } = this.#options
    const exists = async (id: string) => (await this.#keyState(id)) !== 'free'
    const name = keys.idempotencyKey(tenantId, 'batch', key)
    return answered(async () => (await claimName(client, name, jobId, { ttlMs: KEY_TTL_MS, exists })) === undefined)
  }

  /** `free`: the upload is dead, or its job failed before it had fed anything. A job that its tenant cancelled keeps its key. */
  async #keyState(jobId: string): Promise<'uploading' | 'a job' | 'free'> {
    const { client } = this.#options
    const state = await uploadState(client, jobId)
    if (state !== 'a job') return state === 'gone' ? 'free' : state
    const [status, failure, next] = await client.hmget(keys.job(jobId), 'status', 'failure', 'next')
    return status === 'failed' && failure !== CANCELLED && next === '1' ? 'free' : 'a job'
  }

  async repeated(tenantId: string, key: string): Promise<RepeatedUpload | 'receiving' | undefined> {
    const { client } = this.#options
    return answered(async () => {
      const jobId = await client.get(keys.idempotencyKey(tenantId, 'batch', key))
      if (jobId === null) return undefined
      const state = await this.#keyState(jobId)
      if (state !== 'a job') return state === 'uploading' ? 'receiving' : undefined
      const [received, fingerprint] = await client.hmget(keys.job(jobId), 'received', 'fingerprint')
      // The process that made the job may have ended before the job was on disk.
      await persisted(client)
      return { jobId, received: Number(received), fingerprint: fingerprint ?? '' }
    })
  }

  async fullBecause(tenantId: string, archived = false): Promise<string | undefined> {
    const reason = this.#options.closedBecause(archived)
    if (reason !== undefined) return reason
    const openMax = this.#openMax({ leavesRoom: true })
    const open = await answered(() => this.#options.client.scard(keys.openJobsOf(tenantId)))
    return open < openMax ? undefined : fullText(openMax)
  }

  #openMax({ leavesRoom }: FileFacts): number {
    const { openMax } = this.#options
    return leavesRoom === true ? Math.max(1, Math.floor(openMax / 2)) : openMax
  }

  async find(tenantId: string, jobId: string, sourceId?: string): Promise<BatchJob | undefined> {
    return answered(async () => {
      const found = await this.#read(tenantId, jobId, sourceId)
      // Progress that was shown must survive a power failure.
      if (found !== undefined) await persisted(this.#options.client)
      return found?.job
    })
  }

  async list(tenantId: string, { limit, before, status, label }: JobPage): Promise<BatchJobList | undefined> {
    const { client } = this.#options
    return answered(async () => {
      const name = keys.batchesOf(tenantId)
      const rank = before === undefined ? -1 : await client.zrevrank(name, before)
      if (rank === null) return undefined
      const jobs: ListedBatchJob[] = []
      let last: string | undefined
      // An unfinished upload is in the list, but has no record yet.
      for (let at = rank + 1; jobs.length <= limit && at <= rank + LOOKED_AT_MAX; at += limit) {
        const ids = await client.zrevrange(name, at, at + limit - 1)
        last = ids.at(-1)
        if (last === undefined) break
        const found = await Promise.all(ids.map((id) => this.#readIf(tenantId, id, { status, label })))
        for (const entry of found) {
          if (entry === undefined) continue
          jobs.push({ ...entry.job, received_at: new Date(entry.receivedAtMs).toISOString() })
        }
      }
      await persisted(client)
      const page = jobs.slice(0, limit)
      const next = jobs.length > limit ? page.at(-1)!.job_id : (last ?? null)
      return { jobs: page, next }
    })
  }

  /** Reads a job if it has a status and a label. Most jobs without them cost one call. */
  async #readIf(tenantId: string, jobId: string, { status, label }: Pick<JobPage, 'status' | 'label'>) {
    if (status !== undefined || label !== undefined) {
      const found = await this.#options.client.hmget(keys.job(jobId), 'status', 'label')
      if (found[0] !== (status ?? found[0]) || found[1] !== (label ?? found[1])) return undefined
    }
    const entry = await this.#read(tenantId, jobId)
    return entry === undefined || entry.job.status !== (status ?? entry.job.status) ? undefined : entry
  }

  async fileNames(tenantId: string, jobIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { client } = this.#options
    return answered(async () => {
      const fields = await Promise.all(jobIds.map((id) => client.hmget(keys.job(id), 'tenant_id', 'file_name')))
      return new Map(
        fields.flatMap(([tenant, name], i) => (tenant === tenantId && name != null ? [[jobIds[i]!, name]] : [])),
      )
    })
  }

  async rejected(tenantId: string, jobId: string): Promise<RejectedOfJob | 'expired' | undefined> {
    const { client, clock } = this.#options
    return answered(async () => {
      // In this order, the parts of all lines that the record counts are in the list.
      const record = await client.hgetall(keys.job(jobId))
      if (record.tenant_id !== tenantId) return undefined
      const lines = rejectedLinesOf(record, clock.now())
      const count = await client.llen(keys.jobRejected(jobId))
      if (lines === null || (count === 0 && lines.kept > 0)) return 'expired'
      await persisted(client)
      return { ...lines, pieces: keptPieces(client, jobId, Number(record.kept_parts ?? 0)) }
    })
  }

  async cancel(tenantId: string, jobId: string): Promise<BatchJob | 'ended' | undefined> {
    const { client, partitions } = this.#options
    return answered(async () => {
      const args = [tenantId, RECORD_TTL_MS, CANCELLED]
      const result = await cancelJobScript.run(client, [keys.job(jobId)], args)
      if (result === -1) return undefined
      if (result === 0) return 'ended'
      // After a crash here, the feeder does this.
      await freeJob(client, partitions, { id: jobId, tenantId }, 'a job')
      await persisted(client)
      return (await this.#read(tenantId, jobId))?.job
    })
  }

  async #read(
    tenantId: string,
    jobId: string,
    sourceId?: string,
  ): Promise<{ job: BatchJob; receivedAtMs: number } | undefined> {
    const { client, partitions, clock } = this.#options
    // Progress comes first: it is deleted only once the record says `completed`, so the shown progress never decreases.
    const progress = await readProgress(client, partitions, jobId)
    const record = await client.hgetall(keys.job(jobId))
    if (record.tenant_id !== tenantId || (sourceId !== undefined && record.source_id !== sourceId)) return undefined
    return { job: describeJob(jobId, record, progress, clock.now()), receivedAtMs: Number(record.received_at) }
  }
}

function fullText(openMax: number): string {
  return `${openMax} batch jobs are queued or running already`
}
