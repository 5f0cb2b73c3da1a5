import type { Config } from '../../config/config.ts'
import { systemClock } from '../../run/clock.ts'
import { dashboardUrlOf, redisUrlOf } from '../../terminal/instance.ts'
import { tenantAdmin, withRedis } from '../../terminal/stores.ts'
import { RedisSessionStore } from '../redis/sessions.ts'
import { type Grant, LINK_MS, Sessions } from '../server/sessions.ts'

/**
 * A sign-in link of the running instance, for an operator unless a tenant is given.
 * @throws StartupError when no dashboard runs, InputError when the tenant does not exist
 */
export async function signInUrl(
  config: Config,
  member?: { readonly tenant: string; readonly validMs: number },
): Promise<string> {
  const [redisUrl, dashboardUrl] = [await redisUrlOf(config), await dashboardUrlOf(config)]
  if (member === undefined) return await createSignInUrl(redisUrl, dashboardUrl)
  const { id, createdAt } = await withRedis(redisUrl, (client) => tenantAdmin(client, config).getTenant(member.tenant))
  return await createSignInUrl(redisUrl, dashboardUrl, { role: 'member', tenant: { id, createdAt } }, member.validMs)
}

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
