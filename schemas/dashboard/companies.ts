import { type Static, Type } from 'typebox'
import {
  COMPANY_LIMITS,
  CompanyFilter,
  CompanyHeat,
  CompanyRow,
  CountedCompany,
  FILTER_PROPERTIES,
  ORDER_PROPERTIES,
  Touch,
} from '../companies.ts'

/** `GET /api/tenants/:tenant/companies/export` */
export const CompaniesExport = Type.Object(
  {
    ...FILTER_PROPERTIES,
    ...ORDER_PROPERTIES,
    hide: Type.Optional(
      Type.Array(Type.String({ maxLength: COMPANY_LIMITS.valueMaxChars }), {
        maxItems: 30,
        description: 'Columns to leave out, by the names of a row; the name and the id are always included',
      }),
    ),
  },
  { additionalProperties: false },
)
export type CompaniesExport = Static<typeof CompaniesExport>

/** `POST /api/tenants/:tenant/companies/export`: only these companies of the view. It changes nothing. */
export const ChosenCompaniesExport = Type.Object(
  {
    ...CompaniesExport.properties,
    companies: Type.Array(Type.String({ minLength: 1, maxLength: COMPANY_LIMITS.valueMaxChars }), {
      minItems: 1,
      maxItems: COMPANY_LIMITS.chosenMax,
    }),
  },
  { additionalProperties: false },
)
export type ChosenCompaniesExport = Static<typeof ChosenCompaniesExport>

/** `GET /api/tenants/:tenant/companies` */
export const CompaniesQuery = Type.Object(
  {
    ...FILTER_PROPERTIES,
    ...ORDER_PROPERTIES,
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: COMPANY_LIMITS.offsetMax })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: COMPANY_LIMITS.pageRowsMax })),
  },
  { additionalProperties: false },
)
export type CompaniesQuery = Static<typeof CompaniesQuery>

export const CompaniesPage = Type.Object({
  rows: Type.Array(CompanyRow),
  /** Companies on all pages. */
  total: Type.Integer(),
})
export type CompaniesPage = Static<typeof CompaniesPage>

/** `POST /api/tenants/:tenant/companies/details`: further columns for the rows of a page. It changes nothing. */
export const CompanyDetailsBody = Type.Object(
  {
    companies: Type.Array(Type.String({ maxLength: COMPANY_LIMITS.valueMaxChars }), {
      maxItems: COMPANY_LIMITS.pageRowsMax,
    }),
    days: FILTER_PROPERTIES.days,
    from: FILTER_PROPERTIES.from,
    to: FILTER_PROPERTIES.to,
  },
  { additionalProperties: false },
)
export type CompanyDetailsBody = Static<typeof CompanyDetailsBody>

export const CompanyDetails = Type.Object({
  company_id: Type.String(),
  visits: CountedCompany.properties.visits,
  unique_ips: CountedCompany.properties.unique_ips,
  /** Null: no event in the last 30 days. */
  heat: Type.Union([CompanyHeat, Type.Null()]),
  /** Visits of each day of `days`. */
  daily_visits: Type.Array(Type.Integer()),
  /** Of all time. Null: no event names a page. */
  first_touch: Type.Union([Touch, Type.Null()]),
  last_touch: Type.Union([Touch, Type.Null()]),
})
export type CompanyDetails = Static<typeof CompanyDetails>

export const CompanyDetailsAnswer = Type.Object({
  companies: Type.Array(CompanyDetails),
  /** First and last day of the sparklines. */
  days: Type.Tuple([Type.String(), Type.String()]),
})
export type CompanyDetailsAnswer = Static<typeof CompanyDetailsAnswer>

/** `GET /api/tenants/:tenant/companies/version`: cheap to read, and changes when the events do. */
export const CompaniesVersion = Type.Object({ version: Type.String() })
export type CompaniesVersion = Static<typeof CompaniesVersion>

/**
 * `GET /api/tenants/:tenant/companies/choices`: values for the filters with their companies. Those of a filter follow all other filters.
 */
export const CompanyChoicesQuery = CompanyFilter
export type CompanyChoicesQuery = Static<typeof CompanyChoicesQuery>

/** `GET /api/tenants/:tenant/companies/condition`: a condition as the page draws it. */
export const ConditionQuery = Type.Object(
  { condition: Type.String({ minLength: 1, maxLength: COMPANY_LIMITS.whereMaxChars }) },
  { additionalProperties: false },
)

/** Terms such as `country=DE`. */
export const ConditionGroup = Type.Object({
  kind: Type.Enum(['any', 'all', 'none']),
  terms: Type.Array(Type.Object({ key: Type.String(), operator: Type.String(), value: Type.String() })),
})
export type ConditionGroup = Static<typeof ConditionGroup>

export const ConditionAnswer = Type.Object({
  /** In one spelling. */
  condition: Type.String(),
  /** All of them hold. Null: it has another form, and is edited as text. */
  groups: Type.Union([Type.Array(ConditionGroup), Type.Null()]),
})
export type ConditionAnswer = Static<typeof ConditionAnswer>
