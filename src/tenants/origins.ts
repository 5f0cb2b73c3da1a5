import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { Enricher } from '../pipeline/event/enrichment.ts'
import {
  type OriginCounts,
  OriginTally,
  type OriginWarning,
  originOf,
  originWarning,
} from '../pipeline/event/origins.ts'
import { Loop } from '../run/loop.ts'
import type { Service } from '../run/service.ts'

/** Recent events of a tenant, counted by network. */
export interface OriginStore {
  /**
   * Adds to the counts of today, and returns the counts since yesterday. Returns none when the tenant is deleted.
   * Rejects with `UnavailableError`.
   */
  add(tenantId: string, counts: OriginCounts): Promise<OriginCounts>
  /** The counts since yesterday. Rejects with `UnavailableError`. */
  read(tenantId: string): Promise<OriginCounts>
}

interface TenantOriginsOptions {
  readonly store: OriginStore
  readonly metrics: Registry
  readonly log: Logger
  /** Default 5,000. */
  readonly flushEveryMs?: number
}

const FLUSH_EVERY_MS = 5_000
const RETRY_DELAY_MAX_MS = 60_000
/** Reads counts of warned tenants again after this many writes, which is about a minute. */
const LOOK_AGAIN_EVERY = 12
/** Maximum number of tenants counted between two writes, and of warnings. */
const TENANTS_MAX = 10_000

/**
 * Counts each tenant's events by network, and warns when most come from one network that visitors do not use. The counts are
 * approximate: a killed process loses its last seconds.
 */
export class TenantOrigins implements Service {
  readonly name = 'origins'
  readonly #options: TenantOriginsOptions
  readonly #loop: Loop
  readonly #warnings = new Map<string, OriginWarning>()
  #tallies = new Map<string, OriginTally>()
  #flushes = 0

  constructor(options: TenantOriginsOptions) {
    this.#options = options
    const { flushEveryMs = FLUSH_EVERY_MS, log, metrics } = options
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        await this.#flush()
        return flushEveryMs
      },
      failed: (err) => log.debug({ err }, 'writing network counts failed; trying again later'),
      delay: { minMs: flushEveryMs, maxMs: Math.max(flushEveryMs, RETRY_DELAY_MAX_MS) },
    })
    const warnings = this.#warnings
    new Gauge({
      name: 'ipid_tenant_one_network_share',
      help: 'Share of the events of a tenant since yesterday from one cloud, CDN or private network, if it is most of them',
      labelNames: ['tenant', 'network'],
      aggregator: 'max',
      registers: [metrics],
      collect() {
        this.reset()
        for (const [tenant, { origin: network, share }] of warnings) this.set({ tenant, network }, share)
      },
    })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#flush().catch(() => {})
  }

  /** Wraps an enricher so that it counts its answers. */
  counting(enricher: Enricher, tenantId: string): Enricher {
    const tally = this.#tallyOf(tenantId)
    return {
      enrich(address, claimed) {
        const enrichment = enricher.enrich(address, claimed)
        tally.add(originOf(enrichment))
        return enrichment
      },
    }
  }

  /** Adds counts of a worker thread or an earlier attempt. */
  add(tenantId: string, counts: OriginCounts): void {
    this.#tallyOf(tenantId).addAll(counts)
  }

  #tallyOf(tenantId: string): OriginTally {
    let tally = this.#tallies.get(tenantId)
    if (tally === undefined) {
      tally = new OriginTally()
      if (this.#tallies.size < TENANTS_MAX) this.#tallies.set(tenantId, tally)
    }
    return tally
  }

  async #flush(): Promise<void> {
    const tallies = this.#tallies
    this.#tallies = new Map()
    for (const [tenantId, tally] of tallies) {
      tallies.delete(tenantId)
      try {
        this.#setWarning(tenantId, originWarning(await this.#options.store.add(tenantId, tally)))
      } catch (error) {
        for (const [id, others] of [[tenantId, tally] as const, ...tallies]) this.add(id, others)
        throw error
      }
    }
    if (++this.#flushes % LOOK_AGAIN_EVERY === 0) await this.#lookAgain()
  }

  /** Updates warnings of tenants that send nothing here: other processes count too, and days end. */
  async #lookAgain(): Promise<void> {
    for (const tenantId of [...this.#warnings.keys()]) {
      this.#setWarning(tenantId, originWarning(await this.#options.store.read(tenantId)))
    }
  }

  #setWarning(tenantId: string, warning: OriginWarning | undefined): void {
    const before = this.#warnings.get(tenantId)
    if (warning === undefined) this.#warnings.delete(tenantId)
    else if (before !== undefined || this.#warnings.size < TENANTS_MAX) this.#warnings.set(tenantId, warning)
    if (warning === undefined || before?.origin === warning.origin) return
    this.#options.log.warn({ tenant: tenantId, network: warning.origin }, warning.text)
  }
}
