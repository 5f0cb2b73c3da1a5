import type { Config } from '../../config/config.ts'
import { dashboardUrlOf, redisUrlOf } from '../../terminal/instance.ts'
import { tenantAdmin, withRedis } from '../../terminal/stores.ts'
import { createSignInUrl } from './sign-in-url.ts'

/**
 * A link to the dashboard of the running instance, for an operator unless a tenant is named.
 * @throws StartupError when there is no dashboard, InputError when there is no such tenant
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
