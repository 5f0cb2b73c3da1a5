import { connectClickHouse, DATABASE } from '../clickhouse/client.ts'
import { readTrackedAccounts, readUsage } from '../clickhouse/usage.ts'
import { RedisDailyQuota } from '../redis/tenants/daily-quota.ts'
import { RedisTenantStore } from '../redis/tenants/tenant-store.ts'
import { type QuotaStore, QuotaWatch } from '../status/quotas.ts'
import type { Parts } from './parts.ts'

const TENANTS_MAX = 10_000
const QUERY_MS = 70_000

/** Looks who is near his quotas. */
export function quotaWatch(parts: Parts): QuotaWatch {
  const { plans } = parts.config
  const { clock, metrics, log } = parts.telemetry
  return new QuotaWatch({
    store: quotaStore(parts),
    limitsOf: (plan) => plans.get(plan) ?? plans.get('starter')!,
    clock,
    metrics,
    log,
  })
}

function quotaStore({ shared, config, telemetry }: Parts): QuotaStore {
  const tenants = new RedisTenantStore(shared)
  const quota = new RedisDailyQuota(shared, telemetry.clock)
  const asked = async <T>(ask: (client: ReturnType<typeof connectClickHouse>) => Promise<T>): Promise<T> => {
    const options = { application: 'quotas', database: DATABASE, requestTimeoutMs: QUERY_MS }
    const client = connectClickHouse(config.clickhouseUrl, options)
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
