import { systemClock } from '../../run/clock.ts'
import { withRedis } from '../../terminal/stores.ts'
import { RedisSessionStore } from '../redis/sessions.ts'
import { type Grant, LINK_MS, Sessions } from '../server/sessions.ts'

/**
 * Creates a sign-in link that works once.
 * @param dashboardUrl public URL of the dashboard
 * @param grant default: an operator
 * @param validMs default: 10 minutes
 */
export async function createSignInUrl(
  redisUrl: string,
  dashboardUrl: string,
  grant: Grant = { role: 'operator' },
  validMs = LINK_MS,
): Promise<string> {
  const secret = await withRedis(redisUrl, (client) =>
    new Sessions(new RedisSessionStore(client), systemClock).createLink(grant, validMs),
  )
  return `${dashboardUrl.replace(/\/$/, '')}/sign-in?token=${secret}`
}
