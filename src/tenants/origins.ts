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

/** What was counted of a tenant's events lately, by network. */
export interface OriginStore {
  /**
   * Adds to the counts of today, and returns what they are since yesterday: nothing when the tenant is being deleted, or gone.
   * Rejects with `UnavailableError`.
   */
  add(tenantId: string, counts: OriginCounts): Promise<OriginCounts>
  /** What they are since yesterday. Rejects with `UnavailableError`. */
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
/** Writes after which tenants that are warned of, and send nothing, are looked at again: about a minute. */
const LOOK_AGAIN_EVERY = 12
/** Tenants that are counted between two writes, and that are warned of. */
const TENANTS_MAX = 10_000

/**
 * Counts where the events of each tenant are from, and tells when most are from one network that no visitor uses. An
 * indication: what a killed process has counted in its last seconds is lost.
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
      failed: (err) => log.debug({ err }, 'counts of networks are written later'),
      delay: { minMs: flushEveryMs, maxMs: Math.max(flushEveryMs, RETRY_DELAY_MAX_MS) },
    })
    const warnings = this.#warnings
    new Gauge({
      name: 'ipid_tenant_one_network_share',
      help: 'Share of the events of a tenant since yesterday that come from one cloud, CDN or private network, where it is most',
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

  /** An enricher that counts what it answers. */
  counting(enricher: Enricher, tenantId: string): Enricher {
    const tally = this.#tallyOf(tenantId)
    return {
      enrich(address) {
        const enrichment = enricher.enrich(address)
        tally.add(originOf(enrichment))
        return enrichment
      },
    }
  }

  /** Adds what was counted elsewhere. */
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
        this.#tell(tenantId, originWarning(await this.#options.store.add(tenantId, tally)))
      } catch (error) {
        for (const [id, others] of [[tenantId, tally] as const, ...tallies]) this.add(id, others)
        throw error
      }
    }
    if (++this.#flushes % LOOK_AGAIN_EVERY === 0) await this.#lookAgain()
  }

  /** Other processes count, too, and days end: a warning must not outlive what it is about. */
  async #lookAgain(): Promise<void> {
    for (const tenantId of [...this.#warnings.keys()]) {
      this.#tell(tenantId, originWarning(await this.#options.store.read(tenantId)))
    }
  }

  #tell(tenantId: string, warning: OriginWarning | undefined): void {
    const before = this.#warnings.get(tenantId)
    if (warning === undefined) this.#warnings.delete(tenantId)
    else if (before !== undefined || this.#warnings.size < TENANTS_MAX) this.#warnings.set(tenantId, warning)
    if (warning === undefined || before?.origin === warning.origin) return
    this.#options.log.warn({ tenant: tenantId, network: warning.origin }, warning.text)
  }
}
