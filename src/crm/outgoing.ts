import { CRM_LIMITS, type CrmRefusal } from '../../schemas/crm.ts'
import type { ClickHouseCompanies } from '../companies/companies.ts'
import type { Segments } from '../companies/segments/segments.ts'
import { parseWhere } from '../companies/where.ts'
import { registrableDomain } from '../enrichment/rules/domain.ts'
import { CrmStoppedError, type OutgoingCompany } from './crm.ts'

/** Pages of a company that are sent. */
const PAGES = 5
const PAGE_DAYS = 30

type WithoutPages = Omit<OutgoingCompany, 'pages'>

/** The companies of a tenant that go to its CRM: those with a domain and visits, of a segment if one is chosen, the latest visits first. */
export class OutgoingCompanies {
  readonly #companies: Pick<ClickHouseCompanies, 'rows' | 'ids' | 'pagesOf'>
  readonly #segments: Pick<Segments, 'list'>

  constructor(companies: Pick<ClickHouseCompanies, 'rows' | 'ids' | 'pagesOf'>, segments: Pick<Segments, 'list'>) {
    this.#companies = companies
    this.#segments = segments
  }

  /**
   * @param segmentId undefined: all companies
   * @returns at most `CRM_LIMITS.companies`, how many more there are, and those that have no domain of their own
   * @throws CrmStoppedError when the segment was removed
   */
  async of(
    tenantId: string,
    segmentId: string | undefined,
    signal: AbortSignal,
  ): Promise<{
    readonly companies: readonly WithoutPages[]
    readonly unfit: readonly CrmRefusal[]
    readonly leftOut: number
  }> {
    const segments = await this.#segments.list(tenantId)
    if (segmentId !== undefined && !segments.some(({ id }) => id === segmentId))
      throw new CrmStoppedError('its segment was removed: connect again with another one')
    const names = new Map<string, string[]>()
    const chosen = new Set<string>()
    for (const { id, name, where } of segments) {
      for await (const ids of this.#companies.ids(tenantId, parseWhere(where), signal)) {
        for (const company of ids) {
          names.set(company, [...(names.get(company) ?? []), name])
          if (id === segmentId) chosen.add(company)
        }
      }
    }
    const byDomain = new Map<string, WithoutPages>()
    const unfit: CrmRefusal[] = []
    let leftOut = 0
    for await (const rows of this.#companies.rows(tenantId, {}, signal)) {
      for (const { company_id, name, domain: text, last_seen, visits, heat } of rows) {
        if (text === '' || visits === 0 || (segmentId !== undefined && !chosen.has(company_id))) continue
        const domain = registrableDomain(text)
        if (domain === undefined) {
          unfit.push({ company_id, name, domain: text, reason: `${text} is not a domain that a company can have` })
          continue
        }
        const other = byDomain.get(domain)
        if (other === undefined && byDomain.size >= CRM_LIMITS.companies) {
          leftOut++
          continue
        }
        const company: WithoutPages = {
          ...{ company_id, name, domain, visits, heat, segments: names.get(company_id) ?? [] },
          last_visit: isoOf(last_seen),
        }
        // The same one in every run: HubSpot has one company of a domain.
        const [first, second] = other === undefined || isFirst(company, other) ? [company, other] : [other, company]
        byDomain.set(domain, first)
        if (second !== undefined) {
          const reason = `${first.company_id} has the same domain: merge the two companies in ipid`
          unfit.push({ company_id: second.company_id, name: second.name, domain, reason })
        }
      }
    }
    return { companies: [...byDomain.values()], unfit, leftOut }
  }

  async withPages(tenantId: string, companies: readonly WithoutPages[]): Promise<OutgoingCompany[]> {
    const ids = companies.map(({ company_id }) => company_id)
    const pages = await this.#companies.pagesOf(tenantId, ids, { days: PAGE_DAYS, most: PAGES })
    return companies.map((company) => ({ ...company, pages: pages.get(company.company_id) ?? [] }))
  }
}

function isFirst(a: WithoutPages, b: WithoutPages): boolean {
  if ((a.company_id === a.domain) !== (b.company_id === b.domain)) return a.company_id === a.domain
  return a.company_id < b.company_id
}

/** @param text of ClickHouse, UTC */
function isoOf(text: string): string {
  return new Date(text.includes('T') ? text : `${text.replace(' ', 'T')}Z`).toISOString()
}
