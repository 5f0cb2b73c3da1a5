import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { TenantRules } from '../../../../schemas/tenant-rules.ts'
import type { Clock } from '../../../run/clock.ts'
import { Loop, pause } from '../../../run/loop.ts'
import { PASSING } from '../../../run/passing.ts'
import type { Service } from '../../../run/service.ts'
import type {
  ChunkCounts,
  ChunkReading,
  EventCheck,
  LineChunk,
  ReadLines,
  SlicedReading,
} from '../../declaration/source.ts'
import type { Address } from '../../event/address.ts'
import type { Enricher } from '../../event/enrichment.ts'
import type { Hostnames } from '../../event/hostnames.ts'
import { type OriginCounts, originWarning } from '../../event/origins.ts'
import type { AddressMask } from '../../event/pseudonym.ts'
import { ChunksInHand, type ReadChunk } from './chunks-in-hand.ts'
import type { FeederStore, OpenedJobs, OpenJob } from './feeder-store.ts'
import { type LaneFractions, LaneRoom, laneFractions } from './lane-room.ts'

export interface FeederOptions {
  readonly store: FeederStore
  /** Undefined: jobs are looked for more often while there are none. */
  readonly opened?: OpenedJobs
  /** Reads the lines of the jobs of a source, see `OpenJob.source`; undefined: the pipeline has none of this name. */
  readonly readerOf: (source: string | undefined) => ReadLines | undefined
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
/** While there are no jobs, and when it is told of those that are opened. */
const NO_JOBS_MS = 250
const TOLD_MS = 2_000
/** Together, several feeders look as often as one. */
const FULL_MS = 10
const LIST_EVERY_MS = 100
const RETRY_DELAY = { minMs: 100, maxMs: 5_000 }

/** Jobs of each tenant that have chunks to feed, the oldest first. */
type Queues = Map<string, OpenJob[]>

/**
 * Feeds batch jobs into the batch lane, chunk by chunk, no faster than it drains. A tenant is one feeder's at a time. Tenants
 * take turns, chunk by chunk; the jobs of one tenant go one behind the other, the oldest first.
 *
 * A chunk is fed, then the job moves on. Both know the chunk's number, so after a crash in between the chunk is fed again
 * and nothing of it is added twice. While a chunk is fed the next one is read, and the jobs are listed beside it: Redis is never
 * waited for with nothing to do. Chunks are fed one behind the other, never side by side.
 */
export class Feeder implements Service {
  readonly name = 'feeder'
  readonly #options: FeederOptions
  readonly #loop: Loop
  #lastTenant = ''
  /** The jobs as they are listed next. */
  #listing: Promise<OpenJob[]> | undefined
  readonly #inHand: ChunksInHand
  readonly #room: LaneRoom
  #isWatching = false
  /** Names of sources that jobs wait for, as the log says: few. */
  readonly #missing = new Set<string>()

  constructor(options: FeederOptions) {
    this.#options = options
    const { store, onFed, log } = options
    this.#inHand = new ChunksInHand(store, onFed)
    this.#room = new LaneRoom(options)
    this.#loop = new Loop({
      name: this.name,
      enter: async (signal) => {
        await this.#settle()
        await store.acquire(signal)
      },
      round: (signal) => this.#round(signal),
      leave: async () => {
        await this.#settle()
        await store.release()
      },
      failed: (err, delayMs) =>
        log.warn({ err, delay_ms: Math.round(delayMs), ...PASSING }, 'feeder waits; its jobs stay as they are'),
      delay: RETRY_DELAY,
    })
  }

  async start(): Promise<void> {
    if (!this.#isWatching && !this.#loop.signal.aborted) this.#options.opened?.watch(() => this.#loop.wake())
    this.#isWatching = true
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    this.#options.opened?.close()
  }

  get #noJobsMs(): number {
    return this.#options.opened === undefined ? NO_JOBS_MS : TOLD_MS
  }

  async #settle(): Promise<void> {
    await Promise.allSettled([this.#listing, this.#inHand.settle()])
    this.#listing = undefined
  }

  #list(): Promise<OpenJob[]> {
    this.#inHand.listing()
    return this.#options.store.openJobs()
  }

  /** Looks through the open jobs, then feeds a chunk of each tenant in turn until they are listed anew. */
  async #round(signal: AbortSignal): Promise<number | undefined> {
    const { store } = this.#options
    store.assertHeld()
    if (store.hasSpare()) await this.#giveBack()
    const jobs = await (this.#listing ?? this.#list())
    this.#listing = undefined
    const queues: Queues = new Map()
    const others: Queues = new Map()
    for (const job of jobs.sort((a, b) => a.receivedAtMs - b.receivedAtMs)) {
      if (job.isOurs ? await this.#endIfDone(job) : job.state !== 'queued' && job.state !== 'running') continue
      const next = this.#inHand.nextOf(job)
      if (next > job.chunks || !this.#hasReader(job)) continue
      const among = job.isOurs ? queues : others
      const queue = among.get(job.tenantId)
      if (queue === undefined) among.set(job.tenantId, [{ ...job, next }])
      else queue.push({ ...job, next })
    }
    if (queues.size === 0) await this.#inHand.advanced
    if (queues.size === 0) return jobs.length === 0 ? this.#noJobsMs : IDLE_MS
    const fractions = laneFractions(firstOf(queues), firstOf(others))
    return (await this.#feedInTurn(queues, fractions, signal)) ? undefined : IDLE_MS
  }

  /** A job whose source is not in the pipeline waits until it is there again: what was accepted is not given up. */
  #hasReader({ id, tenantId, source }: OpenJob): boolean {
    if (this.#options.readerOf(source) !== undefined) return true
    if (!this.#missing.has(source!)) {
      const facts = { job: id, tenant: tenantId, source }
      this.#options.log.warn(facts, 'batch jobs wait: the pipeline has no source of this name that makes jobs')
    }
    this.#missing.add(source!)
    return false
  }

  /** Another one feeds these tenants from now on: nothing of theirs is on its way, or listed as ours, when it begins. */
  async #giveBack(): Promise<void> {
    await this.#inHand.advanced
    await this.#settle()
    await this.#options.store.giveBack()
  }

  /** Ends what has nothing to feed. Returns false for a job that has. */
  async #endIfDone(job: OpenJob): Promise<boolean> {
    const { store, log } = this.#options
    if (job.state === 'uploading') return true
    if (job.state === 'gone' || job.state === 'ended') {
      // What is on its way would come behind the cleaning.
      await this.#inHand.advanced
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
  async #feedInTurn(queues: Queues, fractions: LaneFractions, signal: AbortSignal): Promise<boolean> {
    const { store } = this.#options
    const isListed = this.#listSoon(signal)
    const room = this.#room
    room.forget()
    let fed = 0
    while (queues.size > 0 && !signal.aborted && !isListed()) {
      store.assertHeld()
      if (room.events <= 0) {
        await this.#inHand.fed
        const archived = firstOf(queues).some((job) => job.archived)
        await room.look(fractions, archived)
        if (room.events <= 0) {
          await pause(Math.min(LIST_EVERY_MS, FULL_MS / fractions.events), signal)
          continue
        }
      }
      const tenant = this.#nextTenant([...queues.keys()].sort())
      const queue = queues.get(tenant)!
      const job = queue[0]!
      if (job.archived && room.payloads <= 0) {
        queues.delete(tenant)
        continue
      }
      fed++
      const chunk = await this.#readChunk(job)
      const isFed = chunk !== undefined && (await this.#inHand.add(chunk))
      if (isFed) room.took(chunk.reading.counts, job.archived)
      if (isFed && job.next < job.chunks) queue[0] = { ...job, next: job.next + 1 }
      else queue.shift()
      if (queue.length === 0) queues.delete(tenant)
    }
    return fed > 0 || queues.size > 0
  }

  /** Lists the jobs in a while. Returns whether they are listed. */
  #listSoon(signal: AbortSignal): () => boolean {
    let isListed = false
    const listing = pause(LIST_EVERY_MS, signal).then(() => this.#list())
    const end = () => {
      isListed = true
    }
    listing.then(end, end)
    this.#listing = listing
    return () => isListed
  }

  #nextTenant(tenants: readonly string[]): string {
    this.#lastTenant = tenants.find((tenant) => tenant > this.#lastTenant) ?? tenants[0]!
    return this.#lastTenant
  }

  /** Undefined when its job has ended. */
  async #readChunk(job: OpenJob): Promise<ReadChunk | undefined> {
    const { store } = this.#options
    const isFull = job.addresses === 'full'
    const [chunk, mask, rules] = await Promise.all([
      store.readChunk(job),
      isFull ? undefined : store.addressMask(job),
      store.tenantRules(job),
    ])
    if (chunk === undefined) return this.#fail(job, `part ${job.next} of ${job.chunks} of the upload is gone`)
    if (mask === undefined && !isFull) return this.#fail(job, 'its tenant is gone')
    return { job, reading: await this.#read(job, chunk, mask, rules) }
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
    const { readerOf, check, hostnames, partitions, tenantEnricher } = this.#options
    const read = readerOf(job.source)!
    const enricher = tenantEnricher?.(this.#options.enricher, rules) ?? this.#options.enricher
    const isJudged = enricher !== this.#options.enricher
    const { tenantId, receivedAtMs, archived, id: jobId } = job
    const context = { tenantId, receivedAtMs, archived, mask, isJudged, jobId, partitions, check }
    let answering = enricher
    if ((archived || isJudged || mask !== undefined) && hostnames !== undefined) {
      // A host name may make noise of an address: the first reading finds out which to ask for, as the step will.
      const asked = new Map<string, Address>()
      const enrich = (address: Address) => {
        asked.set(address.text, address)
        return enricher.enrich(address)
      }
      await readWithPauses(read(chunk, { ...context, enricher: { enrich } }))
      await hostnames.prefetch([...asked.values()])
      // Names may expire while the chunk is read.
      const answers = new Map([...asked].map(([text, address]) => [text, enricher.enrich(address)]))
      answering = { enrich: (address) => answers.get(address.text) ?? enricher.enrich(address) }
    }
    return await readWithPauses(read(chunk, { ...context, enricher: answering }))
  }
}

function firstOf(queues: Queues): OpenJob[] {
  return [...queues.values()].map(([job]) => job!)
}

function factsOf({ id, tenantId }: OpenJob): { readonly job: string; readonly tenant: string } {
  return { job: id, tenant: tenantId }
}

/** Reads a chunk in slices. Pauses between them, so that the other roles of the process go on. */
async function readWithPauses(reading: SlicedReading): Promise<ChunkReading> {
  for (;;) {
    const { done, value } = reading.next()
    if (done) return value
    await nextTurn()
  }
}
