import { namedSources } from '../companies/companies.ts'
import { ClickHouseHome } from '../companies/home.ts'
import { Segments } from '../companies/segments/segments.ts'
import { version } from '../config/version.ts'
import { RedisExports } from '../exports/redis/export-store.ts'
import { openObjectStore } from '../pipeline/sinks/archive/destination.ts'
import { EndedJobs } from '../pipeline/sources/batch/redis/ended-jobs.ts'
import type { ProcessContext } from '../process/context.ts'
import type { Service } from '../run/service.ts'
import { SecretBox } from '../secrets/secret-box.ts'
import { connectReading, QuestionReader } from '../stores/clickhouse/reader.ts'
import { persisted } from '../stores/redis/durability/persisted.ts'
import { Membership } from '../stores/redis/membership.ts'
import { RedisTenantStore } from '../tenants/redis/tenant-store.ts'
import { zonesOf } from '../tenants/tenancy.ts'
import { weekReader } from './digests/week.ts'
import { Evaluator } from './evaluation/evaluator.ts'
import { ClickHouseVisits } from './evaluation/visits.ts'
import { linkBaseOf } from './link-base.ts'
import { createAlertMetrics } from './metrics.ts'
import { RedisAlerts } from './redis/alert-store.ts'
import { RedisDeliveries } from './redis/delivery-store.ts'
import { RedisOccurrences } from './redis/occurrence-store.ts'
import { Sender } from './sender.ts'
import { Channels } from './sending/channels.ts'
import { Destinations } from './sending/destinations.ts'
import { Mailer } from './sending/mail.ts'

/** On a cluster a row may reach the replica that answers a little later. */
const CLUSTER_SETTLE_MS = 10_000

/** Evaluates alerts and sends their messages, in one of the processes that have it. */
export function alertRole(context: ProcessContext): Service[] {
  const { config, telemetry, leases } = context
  const { log, clock } = telemetry
  const { processName, smtpUrl, smtpFrom, clickhouseUrl, clickhouseCluster } = config
  const redis = context.connectLoop('alerts')
  const tenants = new RedisTenantStore(redis)
  const zoneOf = zonesOf(tenants)
  const [alerts, deliveries] = [new RedisAlerts(redis), new RedisDeliveries(redis)]
  const leaseOf = (name: string) => new Membership({ client: leases, name, processName, log }).share(0)
  const evaluation = leaseOf('alerts')
  const occurrences = new RedisOccurrences(redis, evaluation, config.alertMessagesPerHour)
  const reading = connectReading(clickhouseUrl, 'alerts')
  const reader = new QuestionReader(reading)
  const files = openObjectStore(context.archiveLocation)
  const channels = new Channels({
    files,
    destinations: new Destinations({ allowsPrivate: config.webhookPrivate === 'on' }),
    secrets: new SecretBox(config),
    mailer: smtpUrl === undefined ? undefined : new Mailer({ url: smtpUrl, from: smtpFrom }),
    userAgent: `ipid/${version()}`,
    ...{ clock, log },
  })
  const metrics = createAlertMetrics(telemetry.metrics, {
    waiting: () => deliveries.waiting(clock.now()),
    touchedSinceMs: () => occurrences.touchedSince(),
    nowMs: () => clock.now(),
  })
  const evaluator = new Evaluator({
    lease: evaluation,
    ...{ alerts, occurrences, clock, log },
    jobs: new EndedJobs(redis, config.partitions, clock),
    visits: new ClickHouseVisits(reader, namedSources(tenants), clock, zoneOf),
    exports: new RedisExports(redis),
    waiting: (id) => deliveries.waitingOf(id),
    readWeek: weekReader(new ClickHouseHome(reader, zoneOf), namedSources(tenants), zoneOf),
    segments: new Segments(redis, clock),
    getTenant: (id) => tenants.getTenant(id),
    retentionDays: config.retentionDays,
    dashboardUrl: linkBaseOf(config),
    settleMs: clickhouseCluster === undefined ? 0 : CLUSTER_SETTLE_MS,
  })
  const sender = new Sender({
    lease: leaseOf('deliveries'),
    ...{ deliveries, alerts, clock, log },
    tenants: async () => (await tenants.listTenants()).map(({ id }) => id),
    send: (alert, delivery, signal) => channels.send(alert, delivery, signal),
    persisted: () => persisted(redis),
    onAttempt: (result) => metrics.attempted(result),
  })
  const connections: Service = {
    name: 'connections of alerts',
    start: async () => {},
    stop: async () => {
      await Promise.all([reading.close(), files.close()])
    },
  }
  return [connections, evaluator, sender]
}
