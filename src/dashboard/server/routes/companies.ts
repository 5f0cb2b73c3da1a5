import { COMPANY_LIMITS } from '../../../../schemas/companies.ts'
import {
  ChosenCompaniesExport,
  CompaniesExport,
  CompaniesQuery,
  type CompaniesVersion,
  CompanyChoicesQuery,
  CompanyDetailsBody,
  type ConditionAnswer,
  ConditionQuery,
} from '../../../../schemas/dashboard/companies.ts'
import {
  type CompanyAnswer,
  CompanyQuery,
  type CompanyReason,
  type CompanySource,
} from '../../../../schemas/dashboard/company.ts'
import { UNKNOWN_LIMITS, UnknownQuery, type UnknownVisits } from '../../../../schemas/unknown-networks.ts'
import type { ClickHouseCompanies } from '../../../companies/companies.ts'
import type { StoredCompany } from '../../../companies/company.ts'
import { companiesCsv } from '../../../companies/csv.ts'
import { assertFilter } from '../../../companies/filter.ts'
import { groupsOf } from '../../../companies/groups.ts'
import { formatCondition, parseCondition } from '../../../companies/where.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { explain } from '../../../lookup/explain.ts'
import type { Lookup, LookupService } from '../../../lookup/lookup.ts'
import { parseAddress } from '../../../pipeline/event/address.ts'
import { forCaller } from '../../../run/caller.ts'
import { TenantSlots } from '../../../run/tenant-slots.ts'
import { EXPORTS } from '../../../stores/clickhouse/read-limits.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface CompanyDependencies {
  readonly companies: ClickHouseCompanies
  readonly lookups: LookupService
}

const PATH = '/api/tenants/:tenant/companies'

export function companyRoutes({ companies, lookups }: CompanyDependencies): DashboardRoute[] {
  const exports = new TenantSlots(EXPORTS)
  const csvOf = async (
    tenant: string,
    { hide, ...view }: CompaniesExport,
    chosen?: readonly string[],
  ): Promise<HttpResponse> => {
    assertFilter(view)
    const { from, to } = await companies.daysOf(tenant, view)
    const days = from === undefined ? `until-${to}` : `${from}-to-${to}`
    return {
      status: 200,
      type: 'text/csv; charset=utf-8',
      headers: { 'content-disposition': `attachment; filename="companies-${tenant}-${days}.csv"` },
      body: untilLeft((left) => {
        const rows = companies.rows(tenant, view, left, chosen)
        return exports.pass(
          tenant,
          companiesCsv(rows, () => forCaller(left, () => companies.ownColumns(tenant)), hide),
        )
      }),
    }
  }
  return [
    route({
      method: 'GET',
      path: PATH,
      endsWithCaller: true,
      query: CompaniesQuery,
      async handle({ tenant, query }) {
        assertFilter(query)
        return json(await companies.page(tenant.id, query))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/details`,
      endsWithCaller: true,
      changes: false,
      body: CompanyDetailsBody,
      async handle({ tenant, body }) {
        const { companies: _, ...days } = body
        assertFilter(days)
        return json(await companies.details(tenant.id, body))
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/choices`,
      endsWithCaller: true,
      query: CompanyChoicesQuery,
      async handle({ tenant, query }) {
        assertFilter(query)
        return json(await companies.choices(tenant.id, query))
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/condition`,
      query: ConditionQuery,
      handle({ query }) {
        const condition = parseCondition(query.condition)
        assertFilter(query)
        const answer: ConditionAnswer = { condition: formatCondition(condition), groups: groupsOf(condition) ?? null }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/version`,
      endsWithCaller: true,
      async handle({ tenant }) {
        const answer: CompaniesVersion = { version: await companies.version(tenant.id) }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/unknown`,
      endsWithCaller: true,
      query: UnknownQuery,
      handle: async ({ tenant, query }) => json(await companies.unknownNetworks(tenant, query)),
    }),
    route({
      method: 'GET',
      path: `${PATH}/unknown/visits`,
      endsWithCaller: true,
      async handle({ tenant }) {
        const { days } = UNKNOWN_LIMITS
        const answer: UnknownVisits = { days, visits: await companies.unknownVisits(tenant.id, days) }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/export`,
      query: CompaniesExport,
      handle: ({ tenant, query }) => csvOf(tenant.id, query),
    }),
    route({
      method: 'POST',
      path: `${PATH}/export`,
      changes: false,
      body: ChosenCompaniesExport,
      handle: ({ tenant, body: { companies: chosen, ...view } }) => csvOf(tenant.id, view, chosen),
    }),
    route({
      method: 'GET',
      path: `${PATH}/of/:company`,
      endsWithCaller: true,
      query: CompanyQuery,
      async handle({ tenant, parameters, query }) {
        const stored = await companies.company(tenant.id, parameters.company!, query.days ?? COMPANY_LIMITS.companyDays)
        if (stored === undefined) throw new HttpError('unknown_company', 'there is no such company')
        return json(await companyAnswer(stored, lookups))
      },
    }),
  ]
}

/**
 * Aborts a generator as soon as its reader leaves. A generator alone would notice only after the awaited piece.
 * @param make must throw when the signal aborts
 */
function untilLeft<T>(make: (left: AbortSignal) => AsyncGenerator<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const leaving = new AbortController()
      const pieces = make(leaving.signal)
      return {
        next: () => pieces.next(),
        return() {
          leaving.abort()
          return pieces.return(undefined)
        },
      }
    },
  }
}

/** Skips reverse DNS, because a page must not wait for name servers. */
const FROM_DATA = { deny: ['rdns'] } as const

interface Looked {
  readonly events: number
  readonly lookup: Lookup
}

/** Combines the stored company with lookups of its addresses in today's data. */
async function companyAnswer(stored: StoredCompany, lookups: LookupService): Promise<CompanyAnswer> {
  const { addresses, ...rest } = stored
  const looked: Looked[] = []
  for (const { ip, events } of addresses) {
    const address = parseAddress(ip)
    if (address !== undefined) looked.push({ events, lookup: await lookups.lookup(address, FROM_DATA) })
  }
  const networks = new Map<string, number>()
  const cities = new Map<string, number>()
  for (const { events, lookup } of looked) {
    const { network, city, country_code } = lookup.data
    add(networks, String(network ?? ''), events)
    add(cities, [city, country_code].filter((part) => part !== undefined).join(', '), events)
  }
  return {
    ...rest,
    networks: most(networks),
    cities: most(cities),
    located_events: looked.reduce((sum, { events }) => sum + events, 0),
    reason: looked[0] === undefined ? null : reasonOf(looked[0], rest.company.company_id, lookups.providerNames()),
    addresses: looked.length > 0 ? 'full' : addresses.some(({ ip }) => ip.includes('#')) ? 'masked' : 'none',
  }
}

function reasonOf({ lookup, events }: Looked, companyId: string, providers: readonly string[]): CompanyReason {
  const { attributes, rule, asked, answered } = explain(lookup, providers)
  return {
    ip: lookup.address,
    events,
    is_same: lookup.companyId === companyId,
    values: Object.entries(lookup.data).map(([attribute, value]) => {
      const source = attributes[attribute as keyof typeof attributes]
      const { provider = '', network = null, word = null, precision = null } = source ?? {}
      return { attribute, value: String(value), provider, network, word, precision }
    }),
    rule,
    asked: asked.filter((name) => name !== FROM_DATA.deny[0]),
    answered: [...answered],
  }
}

function add(sums: Map<string, number>, value: string, events: number): void {
  sums.set(value, (sums.get(value) ?? 0) + events)
}

function most(sums: ReadonlyMap<string, number>): CompanySource[] {
  return [...sums]
    .map(([value, events]) => ({ value, events }))
    .sort((a, b) => b.events - a.events)
    .slice(0, COMPANY_LIMITS.sources)
}
