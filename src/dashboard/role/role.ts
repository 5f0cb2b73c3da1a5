import { RedisAddresses } from '../../alerts/redis/address-store.ts'
import { correctionsLock } from '../../companies/corrections/lock.ts'
import { version } from '../../config/version.ts'
import type { HttpServer } from '../../http/engine/server.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { orUnavailable } from '../../stores/redis/errors.ts'
import { RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import { RedisPersonStore } from '../redis/people.ts'
import { RedisSessionStore } from '../redis/sessions.ts'
import { RedisUsage } from '../redis/usage.ts'
import { Access } from '../server/access.ts'
import { EventStreams } from '../server/event-streams.ts'
import { People } from '../server/people.ts'
import { dashboardRoutes } from '../server/routes.ts'
import { createDashboard } from '../server/server.ts'
import { Sessions } from '../server/sessions.ts'
import { alertDependencies } from './alerts.ts'
import { faviconsOf } from './favicons.ts'
import { liveDependencies } from './live.ts'
import { apiUrlOf, settingsOf } from './settings.ts'
import { dashboardTables } from './tables.ts'
import { uploadsOf } from './uploads.ts'

/** The dashboard. Its listener is the last service. */
export interface DashboardRole {
  readonly services: readonly Service[]
  /** Its URL; undefined before it listens. */
  url(): string | undefined
}

export function dashboardRole(context: ProcessContext): DashboardRole {
  const { config, telemetry } = context
  const { log, metrics, clock } = telemetry
  const {
    dashboardHost: host,
    dashboardPort: port,
    dashboardUrl: publicUrl,
    httpEngine: engine,
    httpIdleSeconds: idleSeconds,
  } = config
  const redis = context.connect({ name: 'dashboard', kind: 'request', timeoutMs: config.redisRequestMs })
  const tenants = new RedisTenantStore(redis)
  const sessions = new Sessions(new RedisSessionStore(redis, clock), clock)
  const people = new People(new RedisPersonStore(redis), sessions, clock)
  const { services, uploads } = uploadsOf(context)
  const findTenant = (id: string) => tenants.getTenant(id)
  const access = new Access(sessions, findTenant)
  const streams = new EventStreams({}, (session, tenant) => access.isValid(session, tenant))
  const live = liveDependencies(context, streams)
  const tables = dashboardTables(context, tenants, correctionsLock(redis))
  const { accuracy, companies, corrections, home, intentPages, overview, pages, activity } = tables
  const favicons = faviconsOf(context)
  const settings = settingsOf(context, redis, { sessions, people }, tables)
  const routes = dashboardRoutes({
    ...{
      tenants,
      version: version(),
      apiUrl: apiUrlOf(config),
      plans: config.plans,
      clock,
    },
    lookups: context.enrichment.lookups,
    accuracy,
    companies,
    corrections,
    favicons,
    home,
    intentPages,
    overview,
    pages,
    activity,
    usage: new RedisUsage(redis, clock),
    settings,
    uploads,
    ...live,
    ...alertDependencies(context, redis, tables),
  })
  let http: HttpServer | undefined
  const listener: Service = {
    name: 'dashboard',
    async start() {
      http ??= await createDashboard({
        host,
        port,
        publicUrl,
        ...{ engine, idleSeconds },
        sessions,
        people,
        addresses: new RedisAddresses(redis),
        routes,
        findTenant,
        persisted: () => orUnavailable(persisted(redis), 'the change may not be on disk yet'),
        onSignedOut: (session) => streams.endOf(session),
        clock,
        log,
        metrics,
      })
      await http.start()
    },
    async stop() {
      // Otherwise the stop would wait for open streams and slow sites.
      streams.end()
      favicons?.stop()
      await http?.stop()
      await tables.close()
    },
  }
  return { services: [...services, listener], url: () => http?.url }
}
