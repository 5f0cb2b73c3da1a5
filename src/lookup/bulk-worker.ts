import type { Logger } from 'pino'
import { type DelayBounds, Loop, retry } from '../run/loop.ts'
import { PASSING } from '../run/passing.ts'
import type { Service } from '../run/service.ts'
import type { BulkDelivery, BulkQueue } from './bulk.ts'
import { lookupLines } from './lines.ts'
import type { LookupService } from './lookup.ts'
import { resultForm } from './result.ts'

interface BulkWorkerOptions {
  readonly queue: BulkQueue
  /** Lookups for a tenant, by its rules. Rejects when Redis does not answer. */
  readonly lookupsOf: (tenantId: string) => Promise<LookupService>
  /** How often a worker reports that a job is alive; well below `claimIdleMs`, after which another worker takes it. */
  readonly aliveEveryMs: number
  /** A job with more deliveries than this is marked as failed, because it ends its workers. */
  readonly deliveriesMax: number
  /** Jobs in progress at once. More than a tenant may have open, so that no tenant fills a worker alone. Default 32. */
  readonly jobsMax?: number
  /** How long `stop` lets jobs finish, milliseconds. The next worker does the rest. Default 5,000. */
  readonly stopMs?: number
  readonly log: Logger
}

const RETRY_DELAY: DelayBounds = { minMs: 100, maxMs: 5_000 }
const STORE_DELAY: DelayBounds = { minMs: 400, maxMs: 5_000 }
/** Tries to store the results of a job before the next worker repeats it. */
const STORE_TRIES_MAX = 5

/**
 * Processes bulk lookup jobs. A job stays in Redis until its results are stored. If a worker dies, another one repeats the
 * job from the start, which is safe because lookups change nothing.
 */
export class BulkWorker implements Service {
  readonly name = 'bulk worker'
  readonly #options: BulkWorkerOptions
  readonly #loop = new Loop({
    name: this.name,
    round: (signal) => this.#round(signal),
    failed: (error, delayMs) =>
      this.#options.log.warn(
        { err: error, delay_ms: Math.round(delayMs), ...PASSING },
        'bulk worker failed and will retry; jobs stay queued',
      ),
    delay: RETRY_DELAY,
  })
  readonly #jobs = new Set<Promise<void>>()
  /** Each ends the work on one job. */
  readonly #ends = new Set<AbortController>()

  constructor(options: BulkWorkerOptions) {
    this.#options = options
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  async stop(): Promise<void> {
    const { queue, stopMs = 5_000 } = this.#options
    const patience = setTimeout(() => {
      for (const end of this.#ends) end.abort()
    }, stopMs)
    await this.#loop.stop()
    await Promise.all(this.#jobs)
    clearTimeout(patience)
    await queue.close()
  }

  /** Takes as many jobs as fit. */
  async #round(signal: AbortSignal): Promise<undefined> {
    const { queue, jobsMax = 32 } = this.#options
    if (this.#jobs.size >= jobsMax) await Promise.race(this.#jobs)
    else for (const job of await queue.take(jobsMax - this.#jobs.size, signal)) this.#begin(job)
  }

  #begin(job: BulkDelivery): void {
    const { queue, log } = this.#options
    const facts = { job: job.jobId, tenant: job.work.tenantId }
    const end = new AbortController()
    const done: Promise<void> = this.#work(job, end)
      .catch((error) => log.error({ err: error, ...facts }, 'bulk lookup job interrupted; it will be repeated'))
      .finally(() => {
        queue.abandon(job)
        this.#ends.delete(end)
        this.#jobs.delete(done)
      })
    this.#ends.add(end)
    this.#jobs.add(done)
  }

  async #work(job: BulkDelivery, end: AbortController): Promise<void> {
    const { queue, deliveriesMax, log } = this.#options
    const facts = { job: job.jobId, tenant: job.work.tenantId }
    if (job.deliveries > deliveriesMax) {
      await this.#store(() => queue.fail(job), end.signal)
      log.error({ ...facts, deliveries: job.deliveries }, 'bulk lookup job failed: it was interrupted too often')
      return
    }
    const startedMs = performance.now()
    const lines = await this.#look(job, end)
    if (lines === undefined) return
    const isStored = await this.#store(() => queue.complete(job, lines), end.signal)
    const seconds = Math.round(performance.now() - startedMs) / 1_000
    if (isStored) log.debug({ ...facts, addresses: job.work.ips.length, seconds }, 'bulk lookup job completed')
  }

  /** The lines of a job; undefined when another worker has taken it, or no time is left. */
  async #look(job: BulkDelivery, end: AbortController): Promise<string | undefined> {
    const { queue, lookupsOf, aliveEveryMs } = this.#options
    const { tenantId, ips, choices } = job.work
    let current = 0
    // A failed report is repeated. Without any report for long, another worker takes the job, as intended.
    const report = () =>
      queue.advance(job, current).then(
        (ours) => ours || end.abort(),
        () => {},
      )
    if ((await queue.advance(job, 0)) === false) return undefined
    const lookups = await lookupsOf(tenantId)
    const alive = setInterval(report, aliveEveryMs)
    const ended = aborted(end.signal)
    const groups = lookupLines(ips, resultForm(tenantId, choices), lookups)
    try {
      let lines = ''
      for (;;) {
        const group = await Promise.race([groups.next(), ended])
        if (group === undefined) return undefined
        if (group.done) return lines
        lines += `${group.value.join('\n')}\n`
        current += group.value.length
        // Yields to other jobs and requests, since lookups may never wait for anything.
        await new Promise(setImmediate)
      }
    } finally {
      clearInterval(alive)
      groups.return().catch(() => {})
    }
  }

  /** Tries again when Redis does not answer: storing twice changes nothing. */
  #store(store: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    return retry(store, { triesMax: STORE_TRIES_MAX, delay: STORE_DELAY, signal })
  }
}

/** Resolves with undefined when the signal aborts. */
function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
}
