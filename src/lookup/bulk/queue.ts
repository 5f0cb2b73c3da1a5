import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { readBlocking } from '../../pipeline/streams/blocking-read.ts'
import type { RawEntry } from '../../pipeline/streams/entries.ts'
import { untilTick } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { replyCode } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { BulkDelivery, BulkQueue, BulkWork } from '../bulk.ts'

interface RedisBulkQueueOptions {
  /** For blocking reads only; not shared, closed by `close`. */
  readonly blocking: RedisClient
  /** For everything else; may be shared. */
  readonly client: RedisClient
  /** A job whose worker did not report for this long is given to another. */
  readonly claimIdleMs: number
}

/** A job in hand, and its entry in the stream. */
interface Delivery extends BulkDelivery {
  readonly entryId: string
}

const GROUP = 'bulk'
/** The record and results of an ended job are kept for a day. */
const KEEP_MS = 86_400_000
/** An ended job takes about this beside its results: its key, its other fields, and its place in the list. */
const RECORD_BYTES = 1_024
/** A consumer without jobs that did not report for this long is removed. */
const CONSUMER_IDLE_MS = 3_600_000
const COMPRESSION_LEVEL = 1

const advanceBulkJobScript = loadScript(import.meta.url, './advanceBulkJob-2.lua')
const endBulkJobScript = loadScript(import.meta.url, './endBulkJob-5.lua')
const deleteIdleConsumersScript = loadScript(import.meta.url, '../../stores/redis/deleteIdleConsumers-1.lua')
const zip = promisify(gzip)

/** Bulk lookup jobs in Redis, as one worker process sees them: a consumer of a group. */
export class RedisBulkQueue implements BulkQueue {
  readonly #options: RedisBulkQueueOptions
  readonly #consumer = randomUUID()
  readonly #inHand = new Set<string>()
  #nextClaimAtMs = 0
  #hasGroup = false

  constructor(options: RedisBulkQueueOptions) {
    this.#options = options
  }

  async take(max: number, signal?: AbortSignal): Promise<readonly BulkDelivery[]> {
    try {
      if (!this.#hasGroup) await this.#createGroup()
      return await this.#takeEntries(max, signal)
    } catch (error) {
      if (replyCode(error) === 'NOGROUP') this.#hasGroup = false
      throw error
    }
  }

  /** Takes abandoned entries first: of dead workers, and our own whose delivery was lost. */
  async #takeEntries(max: number, signal: AbortSignal | undefined): Promise<Delivery[]> {
    const { blocking, client, claimIdleMs } = this.#options
    if (performance.now() >= this.#nextClaimAtMs) {
      this.#nextClaimAtMs = performance.now() + untilTick(claimIdleMs / 2, Date.now())
      const found = await this.#deliveries(await this.#claim(max))
      if (found.length > 0) return found
    }
    const reply = await readBlocking({
      ...{ blocking, client, group: GROUP, consumer: this.#consumer, count: max, streams: [keys.bulkJobs()], signal },
      blockMs: Math.max(1, this.#nextClaimAtMs - performance.now()),
    })
    return this.#deliveries(reply[0]?.[1] ?? [])
  }

  /**
   * Skips jobs in progress here, which may look abandoned when this process was slow or Redis was down. Claiming one would
   * count as a delivery, and too many deliveries fail a job.
   */
  async #claim(max: number): Promise<RawEntry[]> {
    const { client, claimIdleMs } = this.#options
    const idle = (await client.call(
      'XPENDING',
      ...[keys.bulkJobs(), GROUP, 'IDLE', claimIdleMs, '-', '+', max + this.#inHand.size],
    )) as [entryId: string, ...unknown[]][]
    const lost = idle.map(([entryId]) => entryId).filter((entryId) => !this.#inHand.has(entryId))
    if (lost.length === 0) return []
    const ids = lost.slice(0, max)
    return (await client.callBuffer(
      'XCLAIM',
      ...[keys.bulkJobs(), GROUP, this.#consumer, claimIdleMs, ...ids],
    )) as RawEntry[]
  }

  async #deliveries(entries: readonly RawEntry[]): Promise<Delivery[]> {
    const found = await Promise.all(entries.map(readJob).map((entry) => this.#delivery(entry)))
    for (const { entryId } of found) this.#inHand.add(entryId)
    return found
  }

  /** A job without a record has no addresses left; completing it removes its entry. */
  async #delivery({ entryId, jobId, tenantId }: ReturnType<typeof readJob>): Promise<Delivery> {
    const { client } = this.#options
    const [stored, pending] = await Promise.all([
      client.hget(keys.bulkJob(jobId), 'work'),
      client.callBuffer('XPENDING', keys.bulkJobs(), GROUP, entryId, entryId, 1) as Promise<unknown[][]>,
    ])
    const work = JSON.parse(stored ?? '{"ips":[],"choices":{}}') as Omit<BulkWork, 'tenantId'>
    return { entryId, jobId, work: { tenantId, ...work }, deliveries: Number(pending[0]?.[3] ?? 1) }
  }

  async advance(job: BulkDelivery, current: number): Promise<boolean> {
    const names = [keys.bulkJob(job.jobId), keys.bulkJobs()]
    const args = [GROUP, this.#consumer, entryOf(job), current]
    return (await advanceBulkJobScript.run(this.#options.client, names, args)) === 1
  }

  async complete(job: BulkDelivery, lines: string): Promise<boolean> {
    const results = await zip(lines, { level: COMPRESSION_LEVEL })
    return this.#end(job, ['status', 'completed', 'current', job.work.ips.length, 'results', results])
  }

  fail(job: BulkDelivery): Promise<boolean> {
    return this.#end(job, ['status', 'failed'])
  }

  async #end(job: BulkDelivery, fields: readonly (string | number | Buffer)[]): Promise<boolean> {
    const { tenantId } = job.work
    const ofTenant = [keys.openBulkJobsOf(tenantId), keys.endedBulkJobsOf(tenantId), keys.bulkBytesOf(tenantId)]
    const names = [keys.bulkJob(job.jobId), keys.bulkJobs(), ...ofTenant]
    const args = [GROUP, entryOf(job), job.jobId, KEEP_MS, RECORD_BYTES, ...fields]
    return (await endBulkJobScript.run(this.#options.client, names, args)) === 1
  }

  abandon(job: BulkDelivery): void {
    this.#inHand.delete(entryOf(job))
  }

  async close(): Promise<void> {
    this.#options.blocking.disconnect()
  }

  async #createGroup(): Promise<void> {
    const { client } = this.#options
    try {
      await client.callBuffer('XGROUP', 'CREATE', keys.bulkJobs(), GROUP, '0', 'MKSTREAM')
    } catch (error) {
      // Above maxmemory Redis refuses even an existing group. If the group is missing, the next read fails.
      if (replyCode(error) !== 'BUSYGROUP' && replyCode(error) !== 'OOM') throw error
    }
    await deleteIdleConsumersScript.run(client, [keys.bulkJobs()], [GROUP, CONSUMER_IDLE_MS])
    this.#hasGroup = true
  }
}

function entryOf(job: BulkDelivery): string {
  return (job as Delivery).entryId
}

/** The fields are `job` and `tenant`; entries are only deleted when they are acknowledged. */
function readJob([id, fields]: RawEntry): { entryId: string; jobId: string; tenantId: string } {
  const texts = (fields ?? []).map((field) => field.toString())
  return { entryId: id.toString('latin1'), jobId: texts[1] ?? '', tenantId: texts[3] ?? '' }
}
