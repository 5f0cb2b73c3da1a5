import type { Config } from '../../config/config.ts'
import { systemClock } from '../../run/clock.ts'
import { InputError } from '../../run/errors.ts'
import { RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import { redisUrlOf } from '../../terminal/instance.ts'
import { withRedis } from '../../terminal/stores.ts'
import { RedisSessionStore } from '../redis/sessions.ts'
import { Sessions, type Withdrawn } from '../server/sessions.ts'

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
