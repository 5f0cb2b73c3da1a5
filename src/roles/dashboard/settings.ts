import type { ClickHouseClient } from '@clickhouse/client'
import { connectClickHouse, DATABASE } from '../../clickhouse/client.ts'
import { readUsage } from '../../clickhouse/usage.ts'
import { UnavailableError } from '../../core/run/errors.ts'
import type { Service } from '../../core/run/service.ts'
import type { SettingsParts } from '../../dashboard/server/routes/settings.ts'
import type { Sessions } from '../../dashboard/server/sessions.ts'
import { attributionOf } from '../../enrichment/files/attribution.ts'
import { judgedLookup, ruleSetOf } from '../../enrichment/tenant-rules/judge.ts'
import { parseRule } from '../../enrichment/tenant-rules/rule.ts'
import type { RedisClient } from '../../redis/connect.ts'
import { RedisDailyQuota } from '../../redis/tenants/daily-quota.ts'
import { RedisTenantStore } from '../../redis/tenants/tenant-store.ts'
import { TenantAdmin } from '../../tenants/admin.ts'
import type { Parts } from '../parts.ts'
import { ClickHouseRuleTrials } from './rule-trials.ts'

const QUERY_SECONDS = 10
/** Above the longest statement, so that it is the server who ends it and says why. */
const REQUEST_MS = 25_000

/** What Settings, Tenants and Lookup are made of; `service` closes their connection to ClickHouse. */
export function settingsOf(
  parts: Parts,
  redis: RedisClient,
  sessions: Sessions,
): SettingsParts & { readonly service: Service } {
  const { config, telemetry, enrichment } = parts
  const { clock } = telemetry
  const { plans, clickhouseUrl, dashboardUrl: publicUrl } = config
  const clickhouse = clickhouseUrl === '' ? undefined : readingClickHouse(clickhouseUrl)
  const demandClickHouse = () => {
    if (clickhouse !== undefined) return clickhouse
    throw new UnavailableError('the dashboard knows no ClickHouse: set CLICKHOUSE_URL')
  }
  const quota = new RedisDailyQuota(redis, clock)
  return {
    admin: new TenantAdmin({ store: new RedisTenantStore(redis), plans, clock }),
    plans,
    clock,
    sessions,
    publicUrl,
    quota,
    lookupCounts: quota,
    accountCounts: {
      async read(tenantId, month, limit) {
        const client = demandClickHouse()
        try {
          return await readUsage(client, tenantId, month, limit)
        } catch (error) {
          throw new UnavailableError('ClickHouse does not answer', { cause: error })
        }
      },
    },
    readRule: parseRule,
    trials: new ClickHouseRuleTrials(demandClickHouse, clock),
    lookups: enrichment.lookups,
    asked: () => (config.rdns === 'on' ? enrichment.lookups : enrichment.engine).providerNames(),
    judge: (lookup, address, tenant) => judgedLookup(lookup, address, ruleSetOf(tenant)),
    attributionOf,
    service: { name: 'dashboard settings', start: async () => {}, stop: async () => await clickhouse?.close() },
  }
}

/** Statements that read, and end in time; those of a dry run say themselves when. */
export function readingClickHouse(url: string): ClickHouseClient {
  return connectClickHouse(url, {
    application: 'dashboard-settings',
    database: DATABASE,
    requestTimeoutMs: REQUEST_MS,
    connectionsMax: 2,
    settings: { readonly: '2', max_execution_time: QUERY_SECONDS },
  })
}
