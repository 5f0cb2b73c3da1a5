import { alertAdmin } from '../../alerts/admin.ts'
import { RedisAlerts } from '../../alerts/redis/alert-store.ts'
import type { Config } from '../../config/config.ts'
import { attributionOf } from '../../enrichment/files/attribution.ts'
import { judgedLookup, ruleSetOf } from '../../enrichment/judge.ts'
import { parseRule } from '../../enrichment/tenant-rules/rule.ts'
import { connectableHost } from '../../http/engine/connectable-host.ts'
import { ReenrichJobs } from '../../operations/reenrich/jobs/job-store.ts'
import { pullStatuses } from '../../pipeline/sources/pulls/statuses.ts'
import type { ProcessContext } from '../../process/context.ts'
import { InputError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { TenantAdmin } from '../../tenants/admin.ts'
import { DAILY_LOOKUPS, SharedLimit, sharedLimits } from '../../tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../tenants/limits/redis/token-counters.ts'
import { RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import type { People } from '../server/people.ts'
import type { SettingsDependencies } from '../server/routes.ts'
import type { Sessions } from '../server/sessions.ts'
import type { SharedLinks } from '../shared-links/shared-links.ts'
import type { DashboardTables } from './tables.ts'

/** Requests of jobs that apply rules to stored events. */
function reenrichmentsOf(
  redis: RedisClient,
  { clickhouseCluster, clickhouseHosts }: Pick<Config, 'clickhouseCluster' | 'clickhouseHosts'>,
): SettingsDependencies['reenrichments'] {
  const jobs = new ReenrichJobs(redis)
  const isSupported = clickhouseCluster === undefined || clickhouseHosts !== undefined
  return {
    read: (tenantId) => jobs.read(tenantId),
    request: (tenantId, request) => jobs.request(tenantId, request),
    cancel: (tenantId, jobId) => jobs.cancel(tenantId, jobId),
    isSupported,
    async assertSupported() {
      if (isSupported) return
      throw new InputError(
        'rules apply to new events only: for stored events in a ClickHouse cluster, set CLICKHOUSE_HOSTS',
      )
    },
  }
}

/** API_URL, or the API of these settings as this machine reaches it. */
export function apiUrlOf({ apiUrl, host, port }: Config): string {
  return apiUrl ?? `http://${connectableHost(host)}:${port}`
}

export function settingsOf(
  context: ProcessContext,
  redis: RedisClient,
  {
    sessions,
    people,
    mails,
    sharedLinks,
  }: Pick<SettingsDependencies, 'mails'> & {
    readonly sessions: Sessions
    readonly people: People
    readonly sharedLinks: SharedLinks
  },
  { overview, trials, sources: counts }: Pick<DashboardTables, 'overview' | 'trials' | 'sources'>,
): SettingsDependencies {
  const { config, telemetry, enrichment, pipeline } = context
  const { clock } = telemetry
  const { plans, dashboardUrl: publicUrl } = config
  const counters = new RedisTokenCounters(redis)
  const alerting = alertAdmin(redis, config, clock)
  return {
    admin: new TenantAdmin({ store: new RedisTenantStore(redis), plans, clock }),
    plans,
    clock,
    sessions,
    people,
    mails,
    sharedLinks,
    alerts: new RedisAlerts(redis),
    endMails: (tenantId, address) => alerting.endMails(tenantId, address),
    publicUrl,
    quota: sharedLimits(counters, clock).lookups,
    lookupCounts: new SharedLimit(DAILY_LOOKUPS, counters, clock),
    overview,
    sources: pipeline.sources.map(({ from }) => from),
    counts,
    apiUrl: apiUrlOf(config),
    publicApiUrl: config.apiUrl,
    fetches: (found) => pullStatuses(redis, pipeline, found),
    readRule: parseRule,
    trials,
    reenrichments: reenrichmentsOf(redis, config),
    lookups: enrichment.lookups,
    asked: () => (config.rdns === 'on' ? enrichment.lookups : enrichment.engine).providerNames(),
    judge: (lookup, address, tenant) =>
      judgedLookup(lookup, address, ruleSetOf(tenant), (domain) => enrichment.engine.organisationOf(domain)),
    attributionOf,
  }
}
