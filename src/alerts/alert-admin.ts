import { Segments } from '../companies/segments/segments.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../run/clock.ts'
import { SecretBox } from '../secrets/secret-box.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { AlertAdmin } from './admin.ts'
import { dashboardUrlOf } from './dashboard-url.ts'
import { RedisAlerts } from './redis/alert-store.ts'
import { RedisDeliveries } from './redis/delivery-store.ts'
import { Destinations } from './sending/destinations.ts'

/**
 * Manages alerts over a connection, with the settings of the instance.
 * @param dashboardUrl base of its pages' URLs
 */
export function alertAdmin(
  client: RedisClient,
  config: Config,
  clock: Clock,
  dashboardUrl = dashboardUrlOf(config),
): AlertAdmin {
  return new AlertAdmin({
    alerts: new RedisAlerts(client),
    deliveries: new RedisDeliveries(client),
    segments: new Segments(client, clock),
    destinations: new Destinations({ allowsPrivate: config.webhookPrivate === 'on' }),
    secrets: new SecretBox(config),
    dashboardUrl,
    clock,
  })
}
