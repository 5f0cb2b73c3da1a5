import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { QuotaStatus, QuotaUse } from '../operations/status/system-status.ts'
import { Loop } from '../run/loop.ts'
import type { Service } from '../run/service.ts'
import { Quotas, type QuotasOptions, SHOWN_MAX } from './quotas.ts'

interface QuotaWatchOptions extends QuotasOptions {
  readonly metrics: Registry
  readonly log: Logger
}

const LOOK_EVERY_MS = 60_000
/** Maximum share of time spent on reading quotas. */
const COST_SHARE = 1 / 200
const RETRY_DELAY = { minMs: 5_000, maxMs: LOOK_EVERY_MS }

/** Reads the use of quotas every minute and keeps metrics of it. Does not enforce quotas. */
export class QuotaWatch implements Service {
  readonly name = 'quota watch'
  readonly #quotas: Quotas
  readonly #loop: Loop
  #status: QuotaStatus | undefined

  constructor(options: QuotaWatchOptions) {
    this.#quotas = new Quotas(options)
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        const startedAtMs = performance.now()
        await this.look()
        return Math.max(LOOK_EVERY_MS, (performance.now() - startedAtMs) / COST_SHARE)
      },
      failed: (err) => options.log.debug({ err }, 'reading quotas failed; trying again later'),
      delay: RETRY_DELAY,
    })
    createQuotaMetrics(options.metrics, () => this.#status)
  }

  /** Undefined before the first read. */
  get status(): QuotaStatus | undefined {
    return this.#status
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async look(): Promise<void> {
    this.#status = await this.#quotas.read()
  }
}

function createQuotaMetrics(registry: Registry, read: () => QuotaStatus | undefined): void {
  const gauge = (name: string, help: string, value: (use: QuotaUse) => number | undefined) =>
    new Gauge({
      ...{ name, help, labelNames: ['tenant', 'quota'], aggregator: 'max', registers: [registry] },
      collect() {
        this.reset()
        for (const use of read()?.highest ?? []) {
          const found = value(use)
          if (found !== undefined) this.set({ tenant: use.tenant_id, quota: use.quota }, found)
        }
      },
    })
  const which = `of the ${SHOWN_MAX} tenants nearest to their limit`
  gauge('ipid_tenant_quota_used', `Use of a quota, ${which}`, ({ used }) => used)
  gauge('ipid_tenant_quota_limit', `The quota, ${which}`, ({ limit }) => limit)
  gauge('ipid_tenant_quota_passed_timestamp_seconds', `When the quota was passed, ${which}`, ({ passed_at: at }) =>
    at === null ? undefined : Date.parse(at) / 1_000,
  )
  new Gauge({
    name: 'ipid_tenants_over_quota',
    help: 'Tenants that have used up or passed a quota',
    labelNames: ['quota'],
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset()
      for (const [quota, tenants] of Object.entries(read()?.passed ?? {})) this.set({ quota }, tenants)
    },
  })
}
