import { CRM_LIMITS, type CrmRefusal } from '../../schemas/crm.ts'
import type { ClickHouseCompanies } from '../companies/companies.ts'
import type { Segment, Segments } from '../companies/segments/segments.ts'
import { parseWhere } from '../companies/where.ts'
import { registrableDomain } from '../enrichment/rules/domain.ts'
import { CrmStoppedError, type OutgoingCompany } from './crm.ts'

/** Pages of a company that are sent. */
const PAGES = 5
const PAGE_DAYS = 30

type WithoutPages = Omit<OutgoingCompany, 'pages'>
type Chosen = Omit<WithoutPages, 'segments'>

/** Companies without a domain of their own. */
interface Unfit {
  readonly count: number
  /** At most `CRM_LIMITS.refused`. */
  readonly first: readonly CrmRefusal[]
}

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
    readonly unfit: Unfit
    readonly leftOut: number
  }> {
    const segments = await this.#segments.list(tenantId)
    const segment = segments.find(({ id }) => id === segmentId)
    if (segmentId !== undefined && segment === undefined)
      throw new CrmStoppedError('its segment was removed: connect again with another one')
    const inSegment = segment && (await this.#idsOf(tenantId, segment, signal))
    const { chosen, unfit, leftOut } = await this.#choose(tenantId, inSegment, signal)
    // Last, so that it holds the names of the chosen companies only.
    const companies = new Map(
      [...chosen].map((company) => [company.company_id, { ...company, segments: [] as string[] }]),
    )
    for (const { name, where } of segments) {
      for await (const ids of this.#companies.ids(tenantId, parseWhere(where), signal))
        for (const id of ids) companies.get(id)?.segments.push(name)
    }
    return { companies: [...companies.values()], unfit, leftOut }
  }

  async #idsOf(tenantId: string, { where }: Pick<Segment, 'where'>, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    for await (const ids of this.#companies.ids(tenantId, parseWhere(where), signal))
      for (const id of ids) found.add(id)
    return found
  }

  /** @param inSegment undefined: all companies */
  async #choose(tenantId: string, inSegment: ReadonlySet<string> | undefined, signal: AbortSignal) {
    const byDomain = new Map<string, Chosen>()
    const unfit: { count: number; first: CrmRefusal[] } = { count: 0, first: [] }
    const refuse = (refusal: CrmRefusal) => {
      unfit.count++
      if (unfit.first.length < CRM_LIMITS.refused) unfit.first.push(refusal)
    }
    let leftOut = 0
    for await (const rows of this.#companies.rows(tenantId, {}, signal)) {
      for (const { company_id, name, domain: text, last_seen, visits, heat } of rows) {
        if (text === '' || visits === 0 || inSegment?.has(company_id) === false) continue
        const domain = registrableDomain(text)
        if (domain === undefined) {
          refuse({ company_id, name, domain: text, reason: `${text} is not a domain that a company can have` })
          continue
        }
        const other = byDomain.get(domain)
        if (other === undefined && byDomain.size >= CRM_LIMITS.companies) {
          leftOut++
          continue
        }
        const company: Chosen = { company_id, name, domain, visits, heat, last_visit: utcTimeOf(last_seen) }
        // The same one in every run: HubSpot has one company of a domain.
        const [first, second] = other === undefined || isFirst(company, other) ? [company, other] : [other, company]
        byDomain.set(domain, first)
        if (second !== undefined) {
          const reason = `${first.company_id} has the same domain: merge the two companies in ipid`
          refuse({ company_id: second.company_id, name: second.name, domain, reason })
        }
      }
    }
    return { chosen: byDomain.values(), unfit, leftOut }
  }

  async withPages(tenantId: string, companies: readonly WithoutPages[]): Promise<OutgoingCompany[]> {
    const ids = companies.map(({ company_id }) => company_id)
    const pages = await this.#companies.pagesOf(tenantId, ids, { days: PAGE_DAYS, most: PAGES })
    return companies.map((company) => ({ ...company, pages: pages.get(company.company_id) ?? [] }))
  }
}

function isFirst(a: Chosen, b: Chosen): boolean {
  if ((a.company_id === a.domain) !== (b.company_id === b.domain)) return a.company_id === a.domain
  return a.company_id < b.company_id
}

/** @param text of ClickHouse, UTC */
function utcTimeOf(text: string): string {
  return new Date(text.includes('T') ? text : `${text.replace(' ', 'T')}Z`).toISOString()
}
