import type { CompanyFilter } from '../../../../schemas/companies.ts'
import {
  ChangeSegmentBody,
  CreateSegmentBody,
  type ListedSegment,
  RemoveSegmentBody,
  type SegmentsAnswer,
} from '../../../../schemas/dashboard/segments.ts'
import type { AlertAdmin } from '../../../alerts/admin.ts'
import { removeSegment } from '../../../alerts/remove-segment.ts'
import { assertGivenFilter } from '../../../companies/filter.ts'
import type { Segment, Segments } from '../../../companies/segments/segments.ts'
import { formatWhere, parseWhere } from '../../../companies/where.ts'
import type { CrmAdmin } from '../../../crm/admin.ts'
import type { RedisExports } from '../../../exports/redis/export-store.ts'
import { InputError } from '../../../run/errors.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface SegmentDependencies {
  readonly segments: Segments
  readonly alerts: AlertAdmin
  readonly exports: Pick<RedisExports, 'list'>
  readonly crm: CrmAdmin
}

const PATH = '/api/tenants/:tenant/segments'

/** Saved filters of the list of companies (src/companies/README.md). */
export function segmentRoutes({ segments, alerts, exports, crm: { crm } }: SegmentDependencies): DashboardRoute[] {
  const listed = async (tenantId: string, found: readonly Segment[]): Promise<ListedSegment[]> => {
    const all = await alerts.list(tenantId)
    return found.map(({ id, name, where, created_at }) => ({
      ...{ segment_id: id, name, where, filter: parseWhere(where), created_at },
      alerts: all.filter(({ segment_id: of }) => of === id).map((alert) => alert.name),
    }))
  }
  return [
    route({
      method: 'GET',
      path: PATH,
      async handle({ tenant }) {
        const answer: SegmentsAnswer = { segments: await listed(tenant.id, await segments.list(tenant.id)) }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: PATH,
      body: CreateSegmentBody,
      async handle({ tenant, body: { name, filter } }) {
        const made = await segments.create(tenant.id, name, whereOf(filter))
        return json((await listed(tenant.id, [made]))[0])
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/change`,
      body: ChangeSegmentBody,
      async handle({ tenant, body: { segment_id: id, name, filter } }) {
        const where = filter === undefined ? undefined : whereOf(filter)
        return json((await listed(tenant.id, [await segments.change(tenant.id, id, { name, where })]))[0])
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/remove`,
      body: RemoveSegmentBody,
      async handle({ tenant, body: { segment_id: id } }) {
        await removeSegment({ segments, exports, crm, records: (of) => alerts.records(of) }, tenant.id, id)
        return json({})
      },
    }),
  ]
}

function whereOf(filter: CompanyFilter): string {
  assertGivenFilter(filter)
  const where = formatWhere(filter)
  if (where === '') throw new InputError('a segment needs a filter: choose one on the list of companies first')
  return where
}
