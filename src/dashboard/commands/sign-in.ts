import type { Config } from '../../config/config.ts'
import { dashboardUrlOf, redisUrlOf } from '../../terminal/instance.ts'
import { tenantAdmin, withRedis } from '../../terminal/stores.ts'
import { createSignInUrl } from './sign-in-url.ts'

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
