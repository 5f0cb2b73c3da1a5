import type { Logger } from 'pino'
import type { TenantRules } from '../../schemas/tenant-rules.ts'
import type { Address } from '../core/event/address.ts'
import type { Enricher } from '../core/event/enrichment.ts'
import type { Hostnames } from '../core/event/hostnames.ts'
import { type OriginCounts, originWarning } from '../core/event/origins.ts'
import type { AddressMask } from '../core/event/pseudonym.ts'
import type { BatchSource, ChunkCounts, ChunkReading, EventCheck, LineChunk } from '../core/pipeline/source.ts'
import type { Clock } from '../core/run/clock.ts'
import type { Service } from '../core/run/service.ts'
import { Loop, pause } from '../runner/loop.ts'
import type { FeederStore, OpenJob } from './feeder-store.ts'

export interface FeederOptions {
  readonly store: FeederStore
  readonly source: BatchSource
  readonly check: EventCheck
  /** These tell the status of lines that are archived, and complete rows that no stage could complete. */
  readonly enricher: Enricher
  /** An enricher that answers as the tenant's rules have it; the same one when it has none. */
  readonly tenantEnricher?: (enricher: Enricher, tenant: TenantRules) => Enricher
  /** Called for each job that is completed: where its events came from. */
  readonly onOrigins?: (tenantId: string, origins: OriginCounts) => void
  /** Undefined: events are enriched without reverse DNS. */
  readonly hostnames: Hostnames | undefined
  readonly partitions: number
  /** Events of the batch lane that may be in the pipeline at once. */
  readonly waitingEventsMax: number
  /** Events of batch jobs that may wait for the archive; above it the jobs of tenants with an archive wait. */
  readonly waitingPayloadsMax: number
  readonly clock: Clock
  /** Called for each chunk that is fed. */
  readonly onFed?: (counts: ChunkCounts) => void
  readonly log: Logger
}

const IDLE_MS = 100
/** While there are no jobs. */
const NO_JOBS_MS = 250
const FULL_MS = 10
const LIST_EVERY_MS = 100
const RETRY_DELAY = { minMs: 100, maxMs: 5_000 }

/**
 * Feeds batch jobs into the batch lane, chunk by chunk, no faster than it drains. One feeder works at a time. Tenants take
 * turns, chunk by chunk; the jobs of one tenant go one behind the other, the oldest first.
 *
 * A chunk is fed, then the job moves on. Both know the chunk's number, so after a crash in between the chunk is fed again
 * and nothing of it is added twice.
 */
export class Feeder implements Service {
  readonly name = 'feeder'
  readonly #options: FeederOptions
  readonly #loop: Loop
  #listedAtMs = 0
  #lastTenant = ''

  constructor(options: FeederOptions) {
    this.#options = options
    const { store, log } = options
    this.#loop = new Loop({
      name: this.name,
      enter: async (signal) => {
        await store.acquire(signal)
      },
      round: (signal) => this.#round(signal),
      leave: () => store.release(),
      failed: (err, delayMs) =>
        log.warn({ err, delay_ms: Math.round(delayMs) }, 'feeder waits; its jobs stay as they are'),
      delay: RETRY_DELAY,
    })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** Looks through the open jobs, then feeds a chunk of each tenant in turn until it is time to look again. */
  async #round(signal: AbortSignal): Promise<number | undefined> {
    const { store } = this.#options
    store.assertHeld()
    this.#listedAtMs = performance.now()
    const jobs = await store.openJobs()
    const queues = new Map<string, OpenJob[]>()
    for (const job of jobs.sort((a, b) => a.receivedAtMs - b.receivedAtMs)) {
      if (await this.#endIfDone(job)) continue
      const queue = queues.get(job.tenantId)
      if (queue === undefined) queues.set(job.tenantId, [job])
      else queue.push(job)
    }
    if (queues.size === 0) return jobs.length === 0 ? NO_JOBS_MS : IDLE_MS
    return (await this.#feedInTurn(queues, signal)) ? undefined : IDLE_MS
  }

  /** Ends what has nothing to feed. Returns false for a job that has. */
  async #endIfDone(job: OpenJob): Promise<boolean> {
    const { store, log } = this.#options
    if (job.state === 'uploading') return true
    if (job.state === 'gone' || job.state === 'ended') {
      await store.cleanUp(job)
      return true
    }
    if (job.next <= job.chunks) return false
    const summary = await store.summaryIfFinished(job)
    if (summary === undefined) return true
    const origins = await store.origins(job)
    const warning = originWarning(origins)
    const isCompleted = await store.complete(job, { ...summary, ...(warning && { warning: warning.text }) })
    if (isCompleted) this.#options.onOrigins?.(job.tenantId, origins)
    await store.cleanUp(job)
    if (isCompleted)
      log.info({ ...factsOf(job), lines: job.received, seconds: this.#secondsOf(job) }, 'batch job completed')
    return true
  }

  /** False when every job has to wait for the archive. */
  async #feedInTurn(queues: Map<string, OpenJob[]>, signal: AbortSignal): Promise<boolean> {
    const { store, waitingEventsMax, waitingPayloadsMax } = this.#options
    let fed = 0
    while (queues.size > 0 && !signal.aborted && performance.now() < this.#listedAtMs + LIST_EVERY_MS) {
      if ((await store.waitingEvents()) >= waitingEventsMax) {
        await pause(FULL_MS, signal)
        continue
      }
      const tenant = this.#nextTenant([...queues.keys()].sort())
      const queue = queues.get(tenant)!
      if (queue[0]!.archived && (await store.waitingPayloads()) >= waitingPayloadsMax) {
        queues.delete(tenant)
        continue
      }
      fed++
      const job = await this.#feedChunk(queue[0]!)
      if (job !== undefined && job.next <= job.chunks) queue[0] = job
      else queue.shift()
      if (queue.length === 0) queues.delete(tenant)
    }
    return fed > 0 || queues.size > 0
  }

  #nextTenant(tenants: readonly string[]): string {
    this.#lastTenant = tenants.find((tenant) => tenant > this.#lastTenant) ?? tenants[0]!
    return this.#lastTenant
  }

  /** Returns the job as it is then; undefined when it has ended. */
  async #feedChunk(job: OpenJob): Promise<OpenJob | undefined> {
    const { store } = this.#options
    store.assertHeld()
    const chunk = await store.readChunk(job)
    if (chunk === undefined) {
      // A job that was cancelled has none left.
      return this.#fail(job, `part ${job.next} of ${job.chunks} of the upload is gone`)
    }
    const mask = job.addresses === 'full' ? undefined : await store.addressMask(job)
    if (mask === undefined && job.addresses !== 'full') return this.#fail(job, 'its tenant is gone')
    const reading = await this.#read(job, chunk, mask, await store.tenantRules(job))
    await store.feed(job, reading)
    this.#options.onFed?.(reading.counts)
    return (await store.advance(job, reading.counts)) ? { ...job, next: job.next + 1 } : undefined
  }

  async #fail(job: OpenJob, reason: string): Promise<undefined> {
    const { store, log } = this.#options
    if (await store.fail(job, reason)) {
      log.error({ ...factsOf(job), lines: job.received, seconds: this.#secondsOf(job), reason }, 'batch job failed')
    }
  }

  /** Since its receipt. */
  #secondsOf({ receivedAtMs }: OpenJob): number {
    return Math.round((this.#options.clock.now() - receivedAtMs) / 100) / 10
  }

  async #read(
    job: OpenJob,
    chunk: LineChunk,
    mask: AddressMask | undefined,
    rules: TenantRules,
  ): Promise<ChunkReading> {
    const { source, check, hostnames, partitions, tenantEnricher } = this.#options
    const enricher = tenantEnricher?.(this.#options.enricher, rules) ?? this.#options.enricher
    const isJudged = enricher !== this.#options.enricher
    const { tenantId, receivedAtMs, archived, id: jobId } = job
    const context = { tenantId, receivedAtMs, archived, mask, isJudged, jobId, partitions, check }
    if ((archived || isJudged || mask !== undefined) && hostnames !== undefined) {
      // A host name may make noise of an address: the first reading finds out which to ask for, as the step will.
      const asked = new Map<string, Address>()
      const enrich = (address: Address) => {
        asked.set(address.text, address)
        return enricher.enrich(address)
      }
      source.read(chunk, { ...context, enricher: { enrich } })
      await hostnames.prefetch([...asked.values()])
    }
    return source.read(chunk, { ...context, enricher })
  }
}

function factsOf({ id, tenantId }: OpenJob): { readonly job: string; readonly tenant: string } {
  return { job: id, tenant: tenantId }
}
