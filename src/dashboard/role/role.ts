import { join } from 'node:path'
import { alertAdmin } from '../../alerts/admin.ts'
import { weekReader } from '../../alerts/digests/week.ts'
import { AlertTrials } from '../../alerts/evaluation/trial.ts'
import { linkBaseOf } from '../../alerts/link-base.ts'
import { RedisAddresses } from '../../alerts/redis/address-store.ts'
import { RedisAlerts } from '../../alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../alerts/redis/delivery-store.ts'
import { RedisTestLimits } from '../../alerts/redis/test-limits.ts'
import { Destinations } from '../../alerts/sending/destinations.ts'
import { Mailer } from '../../alerts/sending/mail.ts'
import { namedSources } from '../../companies/companies.ts'
import { correctionsLock } from '../../companies/corrections/lock.ts'
import { Segments } from '../../companies/segments/segments.ts'
import { version } from '../../config/version.ts'
import { crmAdmin } from '../../crm/admin.ts'
import { tenantEnricher } from '../../enrichment/judge.ts'
import { ExportAdmin } from '../../exports/admin.ts'
import type { HttpServer } from '../../http/engine/server.ts'
import type { Enricher, Hostnames } from '../../pipeline/event/enrichment.ts'
import { openObjectStore } from '../../pipeline/sinks/archive/destination.ts'
import { UploadedFiles } from '../../pipeline/sources/batch/redis/uploaded-files.ts'
import { batchJobs, intakeGate, uploadConnection } from '../../process/batch-jobs.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import { SecretBox } from '../../secrets/secret-box.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { orUnavailable } from '../../stores/redis/errors.ts'
import { DAILY_LOOKUPS, REQUEST_RATE, SharedLimit } from '../../tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../tenants/limits/redis/token-counters.ts'
import { RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import { zonesOf } from '../../tenants/tenancy.ts'
import { Favicons } from '../favicons/favicons.ts'
import { IconCache } from '../favicons/icon-cache.ts'
import type { Oidc } from '../oidc/oidc-signing.ts'
import { OidcPeople } from '../oidc/people.ts'
import { OidcProvider, oidcOptionsOf } from '../oidc/provider.ts'
import { RedisPersonStore } from '../redis/people.ts'
import { RedisSessionStore } from '../redis/sessions.ts'
import { Access } from '../server/access.ts'
import { EventStreams } from '../server/event-streams.ts'
import { People } from '../server/people.ts'
import type { AlertDependencies } from '../server/routes/alerts.ts'
import type { DigestDependencies } from '../server/routes/digests.ts'
import type { ExportDependencies } from '../server/routes/exports.ts'
import type { SegmentDependencies } from '../server/routes/segments.ts'
import type { UploadDependencies } from '../server/routes/uploads.ts'
import { dashboardRoutes } from '../server/routes.ts'
import { createDashboard } from '../server/server.ts'
import { Sessions } from '../server/sessions.ts'
import { SignInMails } from '../server/sign-in-mails.ts'
import type { Judge } from '../server/upload-preview.ts'
import { RedisSharedLinks } from '../shared-links/redis/link-store.ts'
import { SharedLinks } from '../shared-links/shared-links.ts'
import { SharedPages } from '../shared-links/shared-page.ts'
import { liveDependencies } from './live.ts'
import { sampleOf } from './sample.ts'
import { apiUrlOf, settingsOf } from './settings.ts'
import { type DashboardTables, dashboardTables } from './tables.ts'

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
  const counters = new RedisTokenCounters(redis)
  const sessions = new Sessions(new RedisSessionStore(redis, clock), clock)
  const personStore = new RedisPersonStore(redis)
  const people = new People(personStore, sessions, clock)
  const sharedLinks = new SharedLinks(new RedisSharedLinks(redis), personStore, clock)
  const { services, uploads } = uploadsOf(context)
  const findTenant = (id: string) => tenants.getTenant(id)
  const access = new Access(sessions, findTenant)
  const streams = new EventStreams({}, (session, tenant) => access.isValid(session, tenant))
  const live = liveDependencies(context, streams)
  const tables = dashboardTables(context, tenants, correctionsLock(redis))
  const { accuracy, companies, corrections, home, imports, intentPages, overview, pages, channels, activity } = tables
  const favicons = faviconsOf(context)
  const exportFiles = openObjectStore(context.archiveLocation)
  const mails = mailsOf(context, redis, { sessions, people: personStore, tenants })
  const oidc = oidcOf(context, { people: personStore, tenants })
  const settings = settingsOf(context, redis, { sessions, people, mails, sharedLinks }, tables)
  const { sample, removal } = sampleOf(context, redis, uploads.jobs)
  const alerting = alertDependencies(context, redis, exportFiles, tables, tenants)
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
    imports,
    intentPages,
    overview,
    pages,
    channels,
    activity,
    senders: tables.sources,
    limits: {
      lookups: new SharedLimit(DAILY_LOOKUPS, counters, clock),
      requests: new SharedLimit(REQUEST_RATE, counters, clock),
    },
    settings,
    firstSteps: { ...settings, companies, pageViews: live.pageViews, sample },
    uploads,
    ...live,
    sharedLinks,
    publicUrl,
    crm: crmAdmin(redis, config, clock),
    ...alerting,
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
        ...{ mails, oidc },
        addresses: new RedisAddresses(redis, new SecretBox(config)),
        sharedPages: new SharedPages({
          ...{ links: sharedLinks, companies, counters, findTenant, clock },
          segments: new Segments(redis, clock),
        }),
        digests: alerting.alerts,
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
      live.pageViews.stop()
      oidc?.provider.stop()
      await mails?.stop()
      await http?.stop()
      await tables.close()
      await exportFiles.close()
    },
  }
  return { services: [...services, ...removal, listener], url: () => http?.url }
}

/** Undefined: SMTP_URL is not set. */
function mailsOf(
  { config, telemetry: { log } }: ProcessContext,
  redis: RedisClient,
  stores: { readonly sessions: Sessions; readonly people: RedisPersonStore; readonly tenants: RedisTenantStore },
): SignInMails | undefined {
  const { smtpUrl, smtpFrom } = config
  if (smtpUrl === undefined) return undefined
  return new SignInMails({
    mailer: new Mailer({ url: smtpUrl, from: smtpFrom }),
    limits: new RedisTestLimits(redis),
    dashboardUrl: linkBaseOf(config),
    issuer: config.oidcIssuer,
    ...stores,
    log,
  })
}

/** Undefined: OIDC_ISSUER is not set. */
function oidcOf(
  { config }: ProcessContext,
  stores: { readonly people: RedisPersonStore; readonly tenants: RedisTenantStore },
): Oidc | undefined {
  const options = oidcOptionsOf(config)
  return options && { provider: new OidcProvider(options), people: new OidcPeople(stores) }
}

/** Undefined: DASHBOARD_FAVICONS is off. */
function faviconsOf({ config, telemetry: { clock, log } }: ProcessContext): Favicons | undefined {
  if (config.dashboardFavicons === 'off') return undefined
  return new Favicons({
    cache: new IconCache({ dir: join(config.dataDir, 'favicons'), clock, log }),
    // WEBHOOK_PRIVATE is about the servers that a tenant names; here the data about companies name them.
    destinations: new Destinations({ allowsPrivate: false }),
    userAgent: `ipid/${version()}`,
    log,
  })
}

/** Alerts, their messages, segments, and exports. */
function alertDependencies(
  { config, telemetry: { clock }, archiveLocation }: ProcessContext,
  redis: RedisClient,
  exportFiles: ObjectStore,
  { alertVisits, home }: Pick<DashboardTables, 'alertVisits' | 'home'>,
  tenants: RedisTenantStore,
): AlertDependencies &
  Omit<DigestDependencies, 'clock'> &
  Omit<SegmentDependencies, 'crm'> &
  Omit<ExportDependencies, 'clock'> {
  const scheduledExports = new ExportAdmin(redis, clock)
  return {
    alerts: alertAdmin(redis, config, clock),
    alertActivity: new RedisAlerts(redis),
    deliveries: new RedisDeliveries(redis),
    segments: new Segments(redis, clock),
    exports: scheduledExports.exports,
    ...{ scheduledExports, archiveLocation, exportFiles },
    alertTrials: new AlertTrials(alertVisits, clock),
    readWeek: weekReader(home, namedSources(tenants), zonesOf(tenants)),
    persons: new RedisPersonStore(redis),
    canEmail: config.smtpUrl !== undefined,
  }
}

/** Uploads of the dashboard, and their services. */
function uploadsOf(context: ProcessContext): {
  readonly services: readonly Service[]
  readonly uploads: UploadDependencies
} {
  const gate = intakeGate(context)
  const client = uploadConnection(context)
  const jobs = batchJobs(context, client, gate)
  const uploadedFiles = new UploadedFiles(client)
  const { engine: enricher, hostnames } = context.enrichment
  const judge = pipelineJudge({ enricher, hostnames })
  return { services: [gate], uploads: { jobs, uploadedFiles, openJobsMax: context.config.batchQueueLimit, judge } }
}

/** Enriches as the pipeline does. */
export function pipelineJudge({
  enricher,
  hostnames,
}: {
  readonly enricher: Enricher
  readonly hostnames: Hostnames | undefined
}): Judge {
  return async (addresses, tenant) => {
    await hostnames?.prefetch(addresses)
    const judging = tenantEnricher(enricher, tenant)
    return addresses.map((address) => judging.enrich(address))
  }
}
