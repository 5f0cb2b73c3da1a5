import type { Plans } from '../../schemas/plans.ts'
import type { Clock } from '../run/clock.ts'
import { connectClickHouse, DATABASE } from '../stores/clickhouse/client.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { SharedDailyQuota } from './quota.ts'
import type { QuotaStore, QuotasOptions } from './quota-report.ts'
import { RedisTenantStore } from './redis/tenant-store.ts'
import { RedisTokenCounters } from './redis/token-counters.ts'
import { readTrackedAccounts, readUsage } from './usage.ts'

const TENANTS_MAX = 10_000
const QUERY_MS = 70_000

export interface QuotaSources {
  readonly redis: RedisClient
  readonly clickhouseUrl: string
  readonly plans: Plans
  readonly clock: Clock
}

/** Options of `Quotas` that read Redis and ClickHouse. */
export function quotasOf(sources: QuotaSources): QuotasOptions {
  const { plans, clock } = sources
  const limitsOf = (plan: string) => plans.get(plan) ?? plans.get('starter')!
  return { store: quotaStore(sources), limitsOf, clock }
}

function quotaStore({ redis, clickhouseUrl, clock }: QuotaSources): QuotaStore {
  const tenants = new RedisTenantStore(redis)
  const quota = new SharedDailyQuota(new RedisTokenCounters(redis), clock)
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
    tenants: async () => (await tenants.listTenants()).slice(0, TENANTS_MAX),
    lookups: (ids) => Promise.all(ids.map((id) => quota.used(id))),
    accounts: (month) => withClickHouse((client) => readTrackedAccounts(client, month)),
    passedAt: (tenantId, month, limit) =>
      withClickHouse(async (client) => (await readUsage(client, tenantId, month, limit)).passed_at),
  }
}
