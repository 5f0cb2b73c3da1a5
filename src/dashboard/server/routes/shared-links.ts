import {
  type CreatedSharedLink,
  CreateSharedLinkBody,
  type ListedSharedLink,
  RevokeSharedLinkBody,
  type SharedLinksAnswer,
} from '../../../../schemas/dashboard/shared-links.ts'
import { assertFilter } from '../../../companies/filter.ts'
import type { Segments } from '../../../companies/segments/segments.ts'
import { formatWhere } from '../../../companies/where.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import { InputError } from '../../../run/errors.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import type { SharedLink, SharedTarget } from '../../shared-links/redis/link-store.ts'
import { idOf, type SharedLinks, sharedUrl } from '../../shared-links/shared-links.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { makerOf } from '../sessions.ts'

export interface SharedLinkDependencies {
  readonly sharedLinks: SharedLinks
  readonly segments: Segments
  /** Public URL of the dashboard; undefined: the page uses its own address. */
  readonly publicUrl: string | undefined
}

const PATH = '/api/tenants/:tenant/shared-links'

/** Links to lists and companies for people without an account. */
export function sharedLinkRoutes({ sharedLinks, segments, publicUrl }: SharedLinkDependencies): DashboardRoute[] {
  const targetOf = async (tenant: Tenant, body: CreateSharedLinkBody): Promise<SharedTarget> => {
    const { segment_id, filter, company_id } = body
    if ([segment_id, filter, company_id].filter((given) => given !== undefined).length !== 1)
      throw new InputError('share exactly one of a segment, a filter and a company')
    if (company_id !== undefined) return { company_id }
    if (segment_id !== undefined) return { segment_id: (await segments.existing(tenant.id, segment_id)).id }
    assertFilter(filter!)
    return { where: formatWhere(filter!) }
  }
  const listed = async (tenant: Tenant, link: SharedLink): Promise<ListedSharedLink> => ({
    ...{ id: idOf(link), name: link.name, ...(await shownTarget(tenant, link.target)), columns: [...link.columns] },
    ...{ made_by: link.made_by.name, created_at: link.created_at, expires_at: link.expires_at },
    last_used: link.lastUsedMs === undefined ? null : new Date(link.lastUsedMs).toISOString(),
  })
  const shownTarget = async (tenant: Tenant, target: SharedTarget): Promise<Pick<ListedSharedLink, 'kind' | 'of'>> => {
    if ('company_id' in target) return { kind: 'company', of: target.company_id }
    if ('where' in target) return { kind: 'list', of: target.where }
    return { kind: 'segment', of: (await segments.get(tenant.id, target.segment_id))?.name ?? null }
  }
  return [
    route({
      method: 'GET',
      path: PATH,
      async handle({ tenant }) {
        const found = await sharedLinks.list(tenant)
        const answer: SharedLinksAnswer = { links: await Promise.all(found.map((link) => listed(tenant, link))) }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: PATH,
      body: CreateSharedLinkBody,
      async handle({ tenant, session, body }) {
        const { name, columns, sort, direction, days } = body
        if (days === null && session.role !== 'operator')
          throw new HttpError(
            'forbidden',
            'only an operator makes a link that does not expire: choose a number of days',
          )
        const target = await targetOf(tenant, body)
        const facts = { name, columns, sort, direction, days, target, by: makerOf(session) }
        const { secret, link } = await sharedLinks.create(tenant, facts)
        const answer: CreatedSharedLink = {
          url: sharedUrl(publicUrl ?? '', tenant.id, secret),
          link: await listed(tenant, link),
        }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/revoke`,
      body: RevokeSharedLinkBody,
      async handle({ tenant, body }) {
        await sharedLinks.revoke(tenant, body.id)
        return json({})
      },
    }),
  ]
}
