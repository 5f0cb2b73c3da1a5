import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { TenantRules } from '../../../../schemas/tenant-rules.ts'
import type { Clock } from '../../../run/clock.ts'
import { LeasedService } from '../../../run/leased-service.ts'
import { pause } from '../../../run/loop.ts'
import type {
  ChunkCounts,
  ChunkReading,
  EventCheck,
  LineChunk,
  ReadLines,
  SlicedReading,
} from '../../declaration/source.ts'
import type { Address } from '../../event/address.ts'
import type { Enricher, Hostnames } from '../../event/enrichment.ts'
import type { AddressMask } from '../../event/pseudonym.ts'
import { ChunksInHand, type ReadChunk } from './chunks-in-hand.ts'
import type { FeederStore, OpenedJobs, OpenJob } from './feeder-ports.ts'
import { type LaneFractions, LaneRoom, laneFractions } from './lane-room.ts'

export interface FeederOptions {
  readonly store: FeederStore
  /** Undefined: the feeder polls more often while there are no jobs. */
  readonly opened?: OpenedJobs
  /** The reader of a source's jobs, see `OpenJob.source`. Returns undefined when the pipeline has no source of this name. */
  readonly readerOf: (source: string | undefined) => ReadLines | undefined
  readonly check: EventCheck
  /** Gives archived lines their status, and completes rows that no stage could complete. */
  readonly enricher: Enricher
  /** Applies a tenant's rules to an enricher. Returns the same enricher when there are no rules. */
  readonly tenantEnricher?: (enricher: Enricher, tenant: TenantRules) => Enricher
  /** Undefined: events are enriched without reverse DNS. */
  readonly hostnames: Hostnames | undefined
  readonly partitions: number
  /** See `LaneRoomOptions`. */
  readonly waitingEventsMax: number
  readonly waitingPayloadsMax: number
  readonly clock: Clock
  /** Called for each chunk that is fed. */
  readonly onFed?: (counts: ChunkCounts) => void
  readonly log: Logger
}

const IDLE_MS = 100
/** How often to poll while there are no jobs. */
const NO_JOBS_MS = 250
/** The same, when `opened` announces new jobs. */
const NO_JOBS_ANNOUNCED_MS = 2_000
/** How often all feeders together check a full lane. */
const FULL_MS = 10
const LIST_EVERY_MS = 100
const RETRY_DELAY = { minMs: 100, maxMs: 5_000 }

/** By tenant, the jobs that have chunks to feed, oldest first. */
type Queues = Map<string, OpenJob[]>

/**
 * Feeds batch jobs into the batch lane, chunk by chunk, no faster than the lane drains. One feeder at a time serves a tenant.
 * Tenants take turns after each chunk. A tenant's jobs run one after another, oldest first.
 *
 * The feeder first feeds a chunk, then advances the job. Both calls carry the chunk's number, so a repeat after a crash adds
 * nothing twice. While Redis takes one chunk, the feeder reads the next one and lists the jobs. Chunks are fed strictly in order.
 */
export class Feeder extends LeasedService {
  readonly #options: FeederOptions
  #lastTenant = ''
  /** The list for the next round, when it was requested early. */
  #listing: Promise<OpenJob[]> | undefined
  readonly #inHand: ChunksInHand
  readonly #room: LaneRoom
  #isWatching = false
  /** Sources that jobs wait for. Each is logged once. */
  readonly #missing = new Set<string>()

  constructor(options: FeederOptions) {
    const problem = 'feeder failed and will retry; no job is lost'
    super({ ...options, lease: options.store, name: 'feeder', delay: RETRY_DELAY, problem })
    this.#options = options
    const { store, onFed } = options
    this.#inHand = new ChunksInHand(store, onFed)
    this.#room = new LaneRoom(options)
  }

  override async start(): Promise<void> {
    if (!this.#isWatching && !this.signal.aborted) this.#options.opened?.watch(() => this.wake())
    this.#isWatching = true
    await super.start()
  }

  override async stop(): Promise<void> {
    await super.stop()
    this.#options.opened?.close()
  }

  get #noJobsMs(): number {
    return this.#options.opened === undefined ? NO_JOBS_MS : NO_JOBS_ANNOUNCED_MS
  }

  protected override async settle(): Promise<void> {
    await Promise.allSettled([this.#listing, this.#inHand.settle()])
    this.#listing = undefined
  }

  #list(): Promise<OpenJob[]> {
    this.#inHand.listing()
    return this.#options.store.openJobs()
  }

  /** Sorts the open jobs into queues, then feeds a chunk of each tenant in turn until the next list arrives. */
  protected override async round(): Promise<number | undefined> {
    const { store } = this.#options
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
    return (await this.#feedInTurn(queues, fractions)) ? undefined : IDLE_MS
  }

  /** A job whose source was removed from the pipeline waits until the source returns: accepted events are never dropped. */
  #hasReader({ id, tenantId, source }: OpenJob): boolean {
    if (this.#options.readerOf(source) !== undefined) return true
    if (!this.#missing.has(source!)) {
      const facts = { job: id, tenant: tenantId, source }
      this.#options.log.warn(facts, 'batch jobs wait: the pipeline has no source of this name that reads jobs')
    }
    this.#missing.add(source!)
    return false
  }

  /** Hands tenants to another feeder. First finishes their chunks and drops the list that still has their jobs as ours. */
  async #giveBack(): Promise<void> {
    await this.#inHand.advanced
    await this.settle()
    await this.#options.store.giveBack()
  }

  /** Completes or cleans up a job without chunks to feed. Returns false when the job has some. */
  async #endIfDone(job: OpenJob): Promise<boolean> {
    const { store, log } = this.#options
    if (job.state === 'uploading') return true
    if (job.state === 'gone' || job.state === 'ended') {
      // A chunk still in flight would write keys again after the cleanup.
      await this.#inHand.advanced
      await store.cleanUp(job)
      return true
    }
    if (job.next <= job.chunks) return false
    const summary = await store.summaryIfFinished(job)
    if (summary === undefined) return true
    const isCompleted = await store.complete(job, summary)
    await store.cleanUp(job)
    if (isCompleted)
      log.info({ ...factsOf(job), lines: job.received, seconds: this.#secondsOf(job) }, 'batch job completed')
    return true
  }

  /** Returns false when every job has to wait for the archive. */
  async #feedInTurn(queues: Queues, fractions: LaneFractions): Promise<boolean> {
    const { signal } = this
    const { store } = this.#options
    const isListed = this.#listSoon()
    const room = this.#room
    room.reset()
    let fed = 0
    while (queues.size > 0 && !signal.aborted && !isListed()) {
      store.assertHeld()
      if (room.events <= 0) {
        await this.#inHand.fed
        const archived = firstOf(queues).some((job) => job.archived)
        await room.refresh(fractions, archived)
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
      if (isFed) room.take(chunk.reading.counts, job.archived, bytesOf(chunk.reading))
      if (isFed && job.next < job.chunks) queue[0] = { ...job, next: job.next + 1 }
      else queue.shift()
      if (queue.length === 0) queues.delete(tenant)
    }
    return fed > 0 || queues.size > 0
  }

  /** Requests the next list after `LIST_EVERY_MS`. The returned function says whether it has arrived. */
  #listSoon(): () => boolean {
    let isListed = false
    const listing = pause(LIST_EVERY_MS, this.signal).then(() => this.#list())
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

  /** Returns undefined when the job had to be failed. */
  async #readChunk(job: OpenJob): Promise<ReadChunk | undefined> {
    const { store } = this.#options
    const isFull = job.addresses === 'full'
    const [chunk, mask, rules] = await Promise.all([
      store.readChunk(job),
      isFull ? undefined : store.addressMask(job),
      store.tenantRules(job),
    ])
    if (chunk === undefined) return this.#fail(job, `chunk ${job.next} of ${job.chunks} of the upload was lost`)
    if (mask === undefined && !isFull) return this.#fail(job, 'its tenant was deleted')
    return { job, reading: await this.#read(job, chunk, mask, rules) }
  }

  async #fail(job: OpenJob, reason: string): Promise<undefined> {
    const { store, log } = this.#options
    if (await store.fail(job, reason)) {
      log.error({ ...factsOf(job), lines: job.received, seconds: this.#secondsOf(job), reason }, 'batch job failed')
    }
  }

  /** Seconds since the upload was received. */
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
    const { tenantId, receivedAtMs, archived, id, sourceId } = job
    const context = { tenantId, receivedAtMs, archived, mask, isJudged, job: id, sourceId, partitions, check }
    let finalEnricher = enricher
    if ((archived || isJudged || mask !== undefined) && hostnames !== undefined) {
      // A host name can turn an address into noise. The first pass collects the addresses to look up.
      const asked = new Map<string, Address>()
      const enrich: Enricher['enrich'] = (address, claimed) => {
        asked.set(address.text, address)
        return enricher.enrich(address, claimed)
      }
      await readWithPauses(read(chunk, { ...context, enricher: { enrich } }))
      await hostnames.prefetch([...asked.values()])
      // The answers are kept here, because cached names may expire during the second pass.
      const answers = new Map([...asked].map(([text, address]) => [text, enricher.enrich(address)]))
      const answered: Enricher['enrich'] = (address, claimed) =>
        (claimed === undefined ? answers.get(address.text) : undefined) ?? enricher.enrich(address, claimed)
      finalEnricher = { enrich: answered }
    }
    return await readWithPauses(read(chunk, { ...context, enricher: finalEnricher }))
  }
}

/** Lets the event loop run after each slice, so that reading a chunk does not delay the other work of the process. */
async function readWithPauses(reading: SlicedReading): Promise<ChunkReading> {
  for (;;) {
    const { done, value } = reading.next()
    if (done) return value
    await nextTurn()
  }
}

function firstOf(queues: Queues): OpenJob[] {
  return [...queues.values()].map(([job]) => job!)
}

function factsOf({ id, tenantId }: OpenJob): { readonly job: string; readonly tenant: string } {
  return { job: id, tenant: tenantId }
}

function bytesOf({ blocks, payloads }: ChunkReading): number {
  let bytes = 0
  for (const { rows } of [...blocks.values(), ...payloads.values()]) bytes += rows.length
  return bytes
}
