import { alertAdmin } from '../../alerts/admin.ts'
import { AlertTrials } from '../../alerts/evaluation/trial.ts'
import { RedisAlerts } from '../../alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../alerts/redis/delivery-store.ts'
import { Segments } from '../../companies/segments/segments.ts'
import { ExportAdmin } from '../../exports/admin.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import type { AlertDependencies } from '../server/routes/alerts.ts'
import type { ExportDependencies } from '../server/routes/exports.ts'
import type { SegmentDependencies } from '../server/routes/segments.ts'
import type { DashboardTables } from './tables.ts'

/** Alerts, their messages, segments, and exports. */
export function alertDependencies(
  { config, telemetry: { clock }, archiveLocation }: ProcessContext,
  redis: RedisClient,
  { alertVisits }: Pick<DashboardTables, 'alertVisits'>,
): AlertDependencies & SegmentDependencies & Omit<ExportDependencies, 'clock'> {
  const scheduledExports = new ExportAdmin(redis, clock)
  return {
    alerts: alertAdmin(redis, config, clock),
    alertActivity: new RedisAlerts(redis),
    deliveries: new RedisDeliveries(redis),
    segments: new Segments(redis, clock),
    exports: scheduledExports.exports,
    ...{ scheduledExports, archiveLocation },
    alertTrials: new AlertTrials(alertVisits, clock),
    canEmail: config.smtpUrl !== undefined,
  }
}
