import type { Config } from '../../config/config.ts'
import { systemClock } from '../../run/clock.ts'
import { InputError } from '../../run/errors.ts'
import { RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import { dashboardUrlOf, redisUrlOf } from '../../terminal/instance.ts'
import { tenantAdmin, withRedis } from '../../terminal/stores.ts'
import { RedisPersonStore } from '../redis/people.ts'
import { RedisSessionStore } from '../redis/sessions.ts'
import { type Invitation, People, validName } from '../server/people.ts'
import { LINK_MS, Sessions, signInUrl, type Withdrawn } from '../server/sessions.ts'

/**
 * A link of the running instance that signs in an operator.
 * @param name shown with the operator's session and changes
 * @throws StartupError when no dashboard runs, InputError when the name is invalid
 */
export async function operatorUrl(config: Config, name?: string): Promise<string> {
  const [redisUrl, dashboardUrl] = [await redisUrlOf(config), await dashboardUrlOf(config)]
  return await createSignInUrl(redisUrl, dashboardUrl, name)
}

/**
 * A link of the running instance that signs in a member of a tenant.
 * @throws StartupError when no dashboard runs, InputError when the tenant does not exist, or as `People.invite`
 */
export async function memberUrl(config: Config, tenantId: string, invitation: Omit<Invitation, 'by'>): Promise<string> {
  const [redisUrl, dashboardUrl] = [await redisUrlOf(config), await dashboardUrlOf(config)]
  const secret = await withRedis(redisUrl, async (client) => {
    const { id, createdAt } = await tenantAdmin(client, config).getTenant(tenantId)
    const sessions = new Sessions(new RedisSessionStore(client), systemClock)
    const people = new People(new RedisPersonStore(client), sessions, systemClock)
    return await people.invite({ id, createdAt }, { ...invitation, by: { name: 'operator' } })
  })
  return signInUrl(dashboardUrl, secret)
}

/**
 * Creates a link that signs in an operator, for 10 minutes.
 * @param dashboardUrl public URL of the dashboard
 */
export async function createSignInUrl(redisUrl: string, dashboardUrl: string, name?: string): Promise<string> {
  const grant = { role: 'operator', ...(name !== undefined && { name: validName(name) }) } as const
  const secret = await withRedis(redisUrl, (client) =>
    new Sessions(new RedisSessionStore(client), systemClock).createLink(grant, LINK_MS),
  )
  return signInUrl(dashboardUrl, secret)
}

/**
 * Ends links and sessions of a tenant's members, or of all users.
 * @throws InputError when the tenant does not exist, and neither do sessions or links of a deleted tenant with this name
 */
export async function signOut(config: Config, tenantId?: string): Promise<Withdrawn> {
  return await withRedis(await redisUrlOf(config), async (client) => {
    const withdrawn = await new Sessions(new RedisSessionStore(client), systemClock).withdraw(tenantId)
    const isNothing = withdrawn.links + withdrawn.sessions === 0
    if (tenantId !== undefined && isNothing && (await new RedisTenantStore(client).getTenant(tenantId)) === undefined) {
      throw new InputError(`unknown tenant ${JSON.stringify(tenantId)}`)
    }
    return withdrawn
  })
}
