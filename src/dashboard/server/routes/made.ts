import type { MadeAnswer } from '../../../../schemas/dashboard/people.ts'
import type { Maker } from '../../../../schemas/maker.ts'
import type { RedisAlerts } from '../../../alerts/redis/alert-store.ts'
import type { TenantAdmin } from '../../../tenants/admin.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import { idOf, type SharedLinks } from '../../shared-links/shared-links.ts'
import type { People } from '../people.ts'
import type { SignIn } from '../sessions.ts'
import { listed } from './keys.ts'

export interface MadeDependencies {
  readonly people: People
  readonly admin: Pick<TenantAdmin, 'listKeys' | 'listSources' | 'listTenants'>
  readonly alerts: Pick<RedisAlerts, 'list'>
  readonly sharedLinks: Pick<SharedLinks, 'list'>
}

/**
 * Records of a maker that outlive its removal and still work: keys, sources, alerts, people whom they let in, and shared links of a
 * session without a person.
 * @param makerId see `makerOf`
 */
export async function madeOf(
  { admin, alerts, people, sharedLinks }: MadeDependencies,
  tenant: Tenant,
  makerId: string,
  signIns: readonly SignIn[],
): Promise<MadeAnswer> {
  const [allKeys, allSources, allAlerts, allPeople, allLinks] = await Promise.all([
    admin.listKeys(tenant.id),
    admin.listSources(tenant.id),
    alerts.list(tenant.id),
    people.list(tenant),
    sharedLinks.list(tenant),
  ])
  const keys = allKeys.filter(isInForce)
  const sources = allSources.filter(isInForce)
  const isMade = ({ madeBy }: { readonly madeBy?: Maker | undefined }) => madeBy?.id === makerId
  return {
    keys: keys.filter(isMade).map(listed),
    sources: sources.filter(isMade).map(({ prefix, source: { kind, name = null }, createdAt, lastUsed = null }) => ({
      ...{ source_id: prefix, kind, name, created_at: createdAt, last_used: lastUsed },
    })),
    alerts: allAlerts
      .filter(({ made_by: by }) => by?.id === makerId)
      .map(({ id, name, to, target, created_at }) => ({ alert_id: id, name, to, target, created_at })),
    people: allPeople
      .filter(({ addedById }) => addedById === makerId)
      .map(({ id, name, addedAt }) => ({ id, name, added_at: addedAt })),
    shared_links: allLinks
      .filter(({ made_by: by }) => by.id === makerId)
      .map((link) => ({
        ...{ id: idOf(link), name: link.name, created_at: link.created_at },
        last_used: link.lastUsedMs === undefined ? null : new Date(link.lastUsedMs).toISOString(),
      })),
    unknown: {
      keys: keys.filter(({ madeBy }) => madeBy === undefined).length,
      sources: sources.filter(({ madeBy }) => madeBy === undefined).length,
      alerts: allAlerts.filter(({ made_by: by }) => by === undefined).length,
      links: signIns.filter(({ kind, grant }) => kind === 'link' && !grant.personId && !grant.madeBy).length,
    },
  }
}

function isInForce({ revokedAt }: { readonly revokedAt: string | undefined }): boolean {
  return revokedAt === undefined
}
