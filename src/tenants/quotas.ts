import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { type Plan, type Plans, planOf } from '../../schemas/plans.ts'
import type { QuotaStatus, QuotaUse } from '../operations/status/system-status.ts'
import type { Clock } from '../run/clock.ts'
import { Loop } from '../run/loop.ts'
import type { Service } from '../run/service.ts'
import { connectClickHouse, DATABASE } from '../stores/clickhouse/client.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { DAILY_LOOKUPS, SharedLimit } from './limits/limits.ts'
import { RedisTokenCounters } from './limits/redis/token-counters.ts'
import { RedisTenantStore } from './redis/tenant-store.ts'
import { readTrackedAccounts, readUsage } from './usage.ts'

interface TenantUse {
  readonly id: string
  readonly plan: Pick<Plan, 'daily_lookups' | 'monthly_accounts'>
  readonly lookupsToday: number
}

/** Reads the use of quotas. */
export interface QuotaStore {
  /** Some thousands of tenants at most. */
  tenants(): Promise<readonly TenantUse[]>
  /** Companies tracked in a UTC month, by tenant. @param month `YYYY-MM` */
  accounts(month: string): Promise<ReadonlyMap<string, number>>
  /** When the tenant passed the limit, ISO 8601; null when it did not. */
  passedAt(tenantId: string, month: string, limit: number): Promise<string | null>
}

interface QuotasOptions {
  readonly store: QuotaStore
  readonly clock: Clock
}

/** Tenants with metrics for each quota: those with the highest use relative to their limit. */
const SHOWN_MAX = 20
const PASSED_MAX = 1_000

/** Reads the use of quotas. */
export class Quotas {
  readonly #options: QuotasOptions
  /** Time of passing, by tenant, month and limit. It does not change, so it is read once. */
  readonly #passed = new Map<string, string>()

  constructor(options: QuotasOptions) {
    this.#options = options
  }

  async read(): Promise<QuotaStatus> {
    const { store, clock } = this.#options
    const month = new Date(clock.now()).toISOString().slice(0, 7)
    const [tenants, accounts] = await Promise.all([store.tenants(), store.accounts(month)])
    const uses = tenants.flatMap(({ id, plan, lookupsToday }): QuotaUse[] => {
      const use = { tenant_id: id, passed_at: null }
      return [
        { ...use, quota: 'daily_lookups', used: lookupsToday, limit: plan.daily_lookups },
        { ...use, quota: 'monthly_accounts', used: accounts.get(id) ?? 0, limit: plan.monthly_accounts },
      ]
    })
    const passed = uses.filter(isPassed)
    const ofQuota = (quota: QuotaUse['quota']) => nearest(uses.filter((use) => use.quota === quota && use.used > 0))
    const shown = [...ofQuota('daily_lookups'), ...ofQuota('monthly_accounts')]
    const highest: QuotaUse[] = []
    for (const use of shown) highest.push({ ...use, passed_at: await this.#passedAt(use, month) })
    return {
      passed: {
        daily_lookups: passed.filter(({ quota }) => quota === 'daily_lookups').length,
        monthly_accounts: passed.filter(({ quota }) => quota === 'monthly_accounts').length,
      },
      highest,
    }
  }

  async #passedAt(use: QuotaUse, month: string): Promise<string | null> {
    if (use.quota !== 'monthly_accounts' || !isPassed(use)) return null
    const key = `${use.tenant_id} ${month} ${use.limit}`
    const known = this.#passed.get(key)
    if (known !== undefined) return known
    const at = await this.#options.store.passedAt(use.tenant_id, month, use.limit)
    if (this.#passed.size >= PASSED_MAX) this.#passed.clear()
    if (at !== null) this.#passed.set(key, at)
    return at
  }
}

/** Lookups stop at their limit. Accounts may exceed it. */
function isPassed({ quota, used, limit }: QuotaUse): boolean {
  return quota === 'daily_lookups' ? used >= limit : used > limit
}

function nearest(uses: QuotaUse[]): QuotaUse[] {
  return uses.sort((a, b) => b.used / b.limit - a.used / a.limit).slice(0, SHOWN_MAX)
}

const TENANTS_MAX = 10_000
const QUERY_MS = 70_000

export interface QuotaSources {
  readonly redis: RedisClient
  readonly clickhouseUrl: string
  readonly plans: Plans
  readonly clock: Clock
}

/** Reads Redis and ClickHouse. */
export function quotaStore({ redis, clickhouseUrl, plans, clock }: QuotaSources): QuotaStore {
  const tenants = new RedisTenantStore(redis)
  const quota = new SharedLimit(DAILY_LOOKUPS, new RedisTokenCounters(redis), clock)
  const withClickHouse = async <T>(use: (client: ReturnType<typeof connectClickHouse>) => Promise<T>): Promise<T> => {
    const options = { application: 'quotas', database: DATABASE, requestTimeoutMs: QUERY_MS }
    const client = connectClickHouse(clickhouseUrl, options)
    try {
      return await use(client)
    } finally {
      await client.close()
    }
  }
  return {
    async tenants() {
      const all = (await tenants.listTenants()).slice(0, TENANTS_MAX)
      return Promise.all(
        all.map(async (tenant) => {
          const plan = planOf(plans, tenant)
          return { id: tenant.id, plan, lookupsToday: (await quota.read({ tenant, plan })).used }
        }),
      )
    },
    accounts: (month) => withClickHouse((client) => readTrackedAccounts(client, month)),
    passedAt: (tenantId, month, limit) =>
      withClickHouse(async (client) => (await readUsage(client, tenantId, month, limit)).passed_at),
  }
}

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
