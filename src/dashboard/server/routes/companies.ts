import { COMPANY_LIMITS } from '../../../../schemas/companies.ts'
import {
  ChosenCompaniesExport,
  CompaniesExport,
  CompaniesQuery,
  type CompaniesVersion,
  CompanyChoicesQuery,
  CompanyDetailsBody,
} from '../../../../schemas/dashboard/companies.ts'
import { CompanyQuery } from '../../../../schemas/dashboard/company.ts'
import type { ClickHouseCompanies } from '../../../companies/companies.ts'
import { companiesCsv } from '../../../companies/csv.ts'
import { assertFilter } from '../../../companies/filter.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import type { LookupService } from '../../../lookup/lookup.ts'
import { TenantSlots } from '../../../run/tenant-slots.ts'
import { EXPORTS } from '../../../stores/clickhouse/read-limits.ts'
import { companyAnswer } from '../company-answer.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { untilLeft } from '../until-left.ts'

export interface CompanyDependencies {
  readonly companies: ClickHouseCompanies
  readonly lookups: LookupService
}

const PATH = '/api/tenants/:tenant/companies'

export function companyRoutes({ companies, lookups }: CompanyDependencies): DashboardRoute[] {
  const exports = new TenantSlots(EXPORTS)
  const csvOf = (tenant: string, { hide, ...view }: CompaniesExport, chosen?: readonly string[]): HttpResponse => {
    assertFilter(view)
    const { from, to } = companies.daysOf(view)
    const days = from === undefined ? `until-${to}` : `${from}-to-${to}`
    return {
      status: 200,
      type: 'text/csv; charset=utf-8',
      headers: { 'content-disposition': `attachment; filename="companies-${tenant}-${days}.csv"` },
      body: untilLeft((left) => exports.pass(tenant, companiesCsv(companies.rows(tenant, view, left, chosen), hide))),
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
      path: `${PATH}/version`,
      endsWithCaller: true,
      async handle({ tenant }) {
        const answer: CompaniesVersion = { version: await companies.version(tenant.id) }
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
        if (stored === undefined) throw new HttpError(404, 'there is no such company')
        return json(await companyAnswer(stored, lookups))
      },
    }),
  ]
}
