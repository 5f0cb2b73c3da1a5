import type { Plans } from '../../schemas/plans.ts'
import type { ProcessContext } from '../process/context.ts'
import type { Clock } from '../run/clock.ts'
import { connectClickHouse, DATABASE } from '../stores/clickhouse/client.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { SharedDailyQuota } from './quota.ts'
import { type QuotaStore, type QuotasOptions, QuotaWatch } from './quota-report.ts'
import { RedisTenantStore } from './redis/tenant-store.ts'
import { RedisTokenCounters } from './redis/token-counters.ts'
import { readTrackedAccounts, readUsage } from './usage.ts'

const TENANTS_MAX = 10_000
const QUERY_MS = 70_000

/** Looks who is near his quotas. */
export function quotaWatch({ shared: redis, config, telemetry }: ProcessContext): QuotaWatch {
  const { clickhouseUrl, plans } = config
  const { clock, metrics, log } = telemetry
  return new QuotaWatch({ ...quotasOf({ redis, clickhouseUrl, plans, clock }), metrics, log })
}

export interface QuotaPlaces {
  readonly redis: RedisClient
  readonly clickhouseUrl: string
  readonly plans: Plans
  readonly clock: Clock
}

/** What `Quotas` asks, and by which plans. */
export function quotasOf(places: QuotaPlaces): QuotasOptions {
  const { plans, clock } = places
  const limitsOf = (plan: string) => plans.get(plan) ?? plans.get('starter')!
  return { store: quotaStore(places), limitsOf, clock }
}

function quotaStore({ redis, clickhouseUrl, clock }: QuotaPlaces): QuotaStore {
  const tenants = new RedisTenantStore(redis)
  const quota = new SharedDailyQuota(new RedisTokenCounters(redis), clock)
  const asked = async <T>(ask: (client: ReturnType<typeof connectClickHouse>) => Promise<T>): Promise<T> => {
    const options = { application: 'quotas', database: DATABASE, requestTimeoutMs: QUERY_MS }
    const client = connectClickHouse(clickhouseUrl, options)
    try {
      return await ask(client)
    } finally {
      await client.close()
    }
  }
  return {
    tenants: async () => (await tenants.listTenants()).slice(0, TENANTS_MAX),
    lookups: (ids) => Promise.all(ids.map((id) => quota.used(id))),
    accounts: (month) => asked((client) => readTrackedAccounts(client, month)),
    passedAt: (tenantId, month, limit) =>
      asked(async (client) => (await readUsage(client, tenantId, month, limit)).passed_at),
  }
}
