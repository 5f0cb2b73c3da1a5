import { COMPANY_LIMITS } from '../../schemas/companies.ts'
import type { CompanySource } from '../../schemas/dashboard/company.ts'

/** Pages, referrers, campaigns and sources of a company's visits, on the shown days. Each list has the values with the most events first. */
export interface Origins {
  /** Pages and referrers are without their queries, which may hold tokens and addresses of people. */
  readonly pages: readonly CompanySource[]
  readonly referrers: readonly CompanySource[]
  readonly campaigns: readonly CompanySource[]
  /** By id; empty for events of an API key. */
  readonly sources: readonly CompanySource[]
}

const KINDS = ['pages', 'referrers', 'campaigns', 'sources'] as const satisfies readonly (keyof Origins)[]

/** A value of one kind. */
export interface OriginRow extends CompanySource {
  readonly kind: string
}

/** SQL of `OriginRow`. @param rows condition on the events */
export const originsSql = (rows: string) => `
  SELECT kind, value, sum(n) AS events
  FROM
  (
    SELECT cutQueryString(url) AS read_page, cutQueryString(referrer) AS came_from, toString(utm_campaign) AS campaign, toString(source_id) AS source, count() AS n
    FROM events
    WHERE ${rows}
    GROUP BY read_page, came_from, campaign, source
  )
  ARRAY JOIN
    [${KINDS.map((kind) => `'${kind}'`).join()}] AS kind,
    [read_page, came_from, campaign, source] AS value
  WHERE value != '' OR kind = 'sources'
  GROUP BY kind, value
  ORDER BY events DESC, value
  LIMIT ${COMPANY_LIMITS.sources} BY kind`

export function originsOf(rows: readonly OriginRow[]): Origins {
  const of = (name: (typeof KINDS)[number]) =>
    rows.flatMap(({ kind, value, events }) => (kind === name ? [{ value, events }] : []))
  return { pages: of('pages'), referrers: of('referrers'), campaigns: of('campaigns'), sources: of('sources') }
}
