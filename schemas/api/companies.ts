import { type Static, Type } from 'typebox'
import { COMPANY_LIMITS, CountedCompany } from '../companies.ts'

/** Limits of `GET /v1/companies`. */
export const COMPANIES_API_LIMITS = {
  rows: 100,
  rowsMax: 500,
  days: 30,
  daysMax: COMPANY_LIMITS.companyDaysMax,
  cursorMaxChars: 2_800,
} as const

const { company_id, name: _, ...others } = CountedCompany.properties

/** A company as the API shows it. Unknown texts are empty. */
export const ApiCompany = Type.Object(
  {
    company_id,
    business_name: Type.String({
      description: 'The name that people gave it, else its business name, full name or id',
    }),
    name: Type.String({ deprecated: true, description: 'The name of `business_name` in version 0.2' }),
    ...others,
  },
  { title: 'Company' },
)
export type ApiCompany = Static<typeof ApiCompany>

/** Answer of `GET /v1/companies`. */
export const CompaniesAnswer = Type.Object(
  {
    companies: Type.Array(ApiCompany, {
      maxItems: COMPANIES_API_LIMITS.rowsMax,
      description: 'In the order of their ids',
    }),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'The `cursor` of the next page; null on the last page',
    }),
  },
  { title: 'CompanyList' },
)
export type CompaniesAnswer = Static<typeof CompaniesAnswer>

const Counted = Type.Array(Type.Object({ value: Type.String(), events: Type.Integer() }, { title: 'CountedValue' }), {
  description: 'Those with the most events first',
})

/** Answer of `GET /v1/companies/{company_id}`. */
export const ApiCompanyAnswer = Type.Object(
  {
    company: ApiCompany,
    from: Type.String({ description: 'First UTC day of all that follows' }),
    to: Type.String({ description: 'Last UTC day: today, or that of the last event when it is longer ago' }),
    days: Type.Array(Type.Object({ day: Type.String(), events: Type.Integer(), visits: Type.Integer() }), {
      description: 'Days with events, in order',
    }),
    pages: Counted,
    referrers: Counted,
    campaigns: Counted,
    sources: Counted,
    accounts: Counted,
    event_types: Counted,
    platforms: Counted,
  },
  { title: 'CompanyDetails' },
)
export type ApiCompanyAnswer = Static<typeof ApiCompanyAnswer>
