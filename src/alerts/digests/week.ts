import type { WeekSums } from '../../../schemas/dashboard/home.ts'
import { type NamedSource, resolveFilter } from '../../companies/filter.ts'
import type { ClickHouseHome, HomeWeek } from '../../companies/home.ts'
import { companiesToLookAt } from '../../companies/to-look-at.ts'
import { parseWhere } from '../../companies/where.ts'
import { dayIn, inUtc, momentIn, type ZoneOf } from '../../run/time-zone.ts'
import { WEEK_TYPE } from '../delivery.ts'
import { companyUrl, type DigestLine, type MessageContext } from '../messages.ts'
import type { Digest } from '../redis/alert-store.ts'

/** The digest of a tenant: the seven days that ended before a day, against the seven before. */
export interface WeekMessage {
  readonly type: typeof WEEK_TYPE
  /** RFC 3339, UTC: when it was due. */
  readonly timestamp: string
  readonly data: {
    readonly tenant_id: string
    readonly alert: { readonly id: string; readonly name: string }
    readonly segment: string | null
    readonly every: Digest['every']
    readonly at: string
    /** IANA name of the zone of its days and of `at`; undefined: UTC, as of an earlier version. */
    readonly time_zone?: string
    /** First and last day. */
    readonly from: string
    readonly to: string
    readonly now: WeekSums
    readonly before: WeekSums
    /** Those to look at first. */
    readonly companies: readonly DigestLine[]
    /** The list of companies of its days, or the segment as it is when somebody opens the link. */
    readonly url: string
    /** The page of the digest. */
    readonly digest_url: string
    /** The link that ends the subscription, without its key. */
    readonly unsubscribe_url: string
  }
}

/** Reads the week that ended before the day of a moment, in the zone of the tenant. @param where filter of a segment; undefined: all companies */
export type ReadWeek = (tenantId: string, where: string | undefined, atMs: number) => Promise<HomeWeek>

export function weekReader(
  home: Pick<ClickHouseHome, 'week'>,
  sourcesOf: (tenantId: string) => Promise<readonly NamedSource[]>,
  zoneOf: ZoneOf = inUtc,
): ReadWeek {
  return async (tenantId, where, atMs) => {
    const zone = await zoneOf(tenantId)
    const lastMs = momentIn(zone, dayIn(zone, atMs)) - 1
    if (where === undefined) return await home.week(tenantId, lastMs)
    const filter = resolveFilter(parseWhere(where), lastMs, await sourcesOf(tenantId), zone)
    return await home.week(tenantId, lastMs, filter)
  }
}

export function weekMessage(digest: Digest, week: HomeWeek, context: MessageContext, atMs: number): WeekMessage {
  const { id, tenantId, name, every, at, segment_id: segment } = digest
  const { from, to, now, before } = week
  const base = `${context.dashboardUrl}/t/${tenantId}`
  const link = new URLSearchParams({ tenant: tenantId, digest: id })
  return {
    type: WEEK_TYPE,
    timestamp: new Date(atMs).toISOString(),
    data: {
      ...{
        tenant_id: tenantId,
        alert: { id, name },
        segment: context.segment ?? null,
        every,
        at,
        time_zone: week.zone,
        from,
        to,
        now,
        before,
      },
      companies: companiesToLookAt(week).map(({ company: { company_id, name }, why }) => ({
        ...{ company_id, name, why, url: companyUrl(context, company_id) },
      })),
      url:
        segment === undefined
          ? `${base}/companies?${new URLSearchParams({ from, to })}`
          : `${base}/companies/segment?${new URLSearchParams({ id: segment })}`,
      digest_url: `${base}/alerts/digest`,
      unsubscribe_url: `${context.dashboardUrl}/unsubscribe?${link}`,
    },
  }
}

/** Whether nothing happened in its week. */
export function isEmpty({ now }: Pick<HomeWeek, 'now'>): boolean {
  return now.companies === 0
}
