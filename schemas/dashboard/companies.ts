import { type Static, Type } from 'typebox'

/** Limits of the calls about companies. */
export const COMPANY_LIMITS = {
  searchMaxChars: 200,
  valueMaxChars: 500,
  pageRows: 50,
  pageRowsMax: 200,
  offsetMax: 10_000_000,
  exportRows: 1_000_000,
  /** Days of a row's sparkline. */
  sparkDays: 30,
  choices: 500,
  recentEvents: 50,
  recentEventsMax: 200,
  /** For each of `properties`, `user_properties` and `extra` of a recent event. */
  propertiesMaxChars: 16_384,
  /** Addresses of a company, those with the most events, to look up for its networks and cities. */
  addresses: 500,
  sources: 20,
  accounts: 100,
} as const

/** Columns that a list of companies can be sorted by. */
const COMPANY_SORTS = [
  'name',
  'domain',
  'industry',
  'country_code',
  'classification',
  'events',
  'visits',
  'unique_ips',
  'first_seen',
  'last_seen',
  'quality',
] as const
export type CompanySort = (typeof COMPANY_SORTS)[number]

/** A filter's value that matches companies without a known value. */
export const NOT_KNOWN = '-'

const Day = (description: string) => Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description })
const Choice = (description: string) => Type.String({ maxLength: COMPANY_LIMITS.valueMaxChars, description })
const direction = Type.Union([Type.Literal('asc'), Type.Literal('desc')])

const filters = {
  search: Type.Optional(
    Type.String({
      maxLength: COMPANY_LIMITS.searchMaxChars,
      description:
        'A part of the name, the domain or the id, in upper or lower case; no character has a special meaning',
    }),
  ),
  industry: Type.Optional(Choice('Exactly this industry')),
  category: Type.Optional(Choice('Exactly this group of industries')),
  country: Type.Optional(Choice('ISO 3166-1 alpha-2')),
  classification: Type.Optional(Choice('business, education or government')),
  from: Type.Optional(Day('First UTC day: limits the companies to those with events, and the counts, to these days')),
  to: Type.Optional(Day('Last UTC day')),
  new_since: Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,3})?Z)?$',
      description: 'Companies first seen at or after this moment, ISO 8601 UTC',
    }),
  ),
}
const order = {
  sort: Type.Optional(Type.Enum([...COMPANY_SORTS])),
  direction: Type.Optional(direction),
}

/** Filters and order, for a page and for an export. The value `-` means unknown. */
export const CompanyView = Type.Object({ ...filters, ...order }, { additionalProperties: false })
export type CompanyView = Static<typeof CompanyView>

/** `GET /api/tenants/:tenant/companies/export` */
export const CompaniesExport = Type.Object(
  {
    ...filters,
    ...order,
    hide: Type.Optional(
      Type.Array(Type.String({ maxLength: COMPANY_LIMITS.valueMaxChars }), {
        maxItems: 20,
        description: 'Columns to leave out, by the names of a row; the name and the id are always included',
      }),
    ),
  },
  { additionalProperties: false },
)
export type CompaniesExport = Static<typeof CompaniesExport>

/** `GET /api/tenants/:tenant/companies` */
export const CompaniesQuery = Type.Object(
  {
    ...filters,
    ...order,
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: COMPANY_LIMITS.offsetMax })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: COMPANY_LIMITS.pageRowsMax })),
  },
  { additionalProperties: false },
)
export type CompaniesQuery = Static<typeof CompaniesQuery>

/** A company in a list. Unknown texts are empty. */
export const CompanyRow = Type.Object({
  company_id: Type.String(),
  /** The business name, else the full name, else the id. */
  name: Type.String(),
  domain: Type.String(),
  industry: Type.String(),
  industry_category: Type.String(),
  country_code: Type.String(),
  classification: Type.String(),
  /** On the requested days, or on all. */
  events: Type.Integer(),
  /** ISO 8601, UTC; on all days. */
  first_seen: Type.String(),
  last_seen: Type.String(),
  quality: Type.Integer(),
})
export type CompanyRow = Static<typeof CompanyRow>

export const CompaniesPage = Type.Object({
  rows: Type.Array(CompanyRow),
  /** Companies on all pages. */
  total: Type.Integer(),
})
export type CompaniesPage = Static<typeof CompaniesPage>

const details = {
  /** Distinct pairs of address and UTC day, on the same days as `events`. */
  visits: Type.Integer(),
  unique_ips: Type.Integer(),
}

/** A company with the counts of its addresses, which take longer. */
export const CountedCompany = Type.Object({ ...CompanyRow.properties, ...details })
export type CountedCompany = Static<typeof CountedCompany>

/** `POST /api/tenants/:tenant/companies/details`: further columns for the rows of a page. It changes nothing. */
export const CompanyDetailsBody = Type.Object(
  {
    companies: Type.Array(Type.String({ maxLength: COMPANY_LIMITS.valueMaxChars }), {
      maxItems: COMPANY_LIMITS.pageRowsMax,
    }),
    from: filters.from,
    to: filters.to,
  },
  { additionalProperties: false },
)
export type CompanyDetailsBody = Static<typeof CompanyDetailsBody>

export const CompanyDetails = Type.Object({
  company_id: Type.String(),
  ...details,
  /** Visits of each day of `days`. */
  daily_visits: Type.Array(Type.Integer()),
})
export type CompanyDetails = Static<typeof CompanyDetails>

export const CompanyDetailsAnswer = Type.Object({
  companies: Type.Array(CompanyDetails),
  /** First and last UTC day of the sparklines. */
  days: Type.Tuple([Type.String(), Type.String()]),
})
export type CompanyDetailsAnswer = Static<typeof CompanyDetailsAnswer>

/** `GET /api/tenants/:tenant/companies/version`: cheap to read, and changes when the events do. */
export const CompaniesVersion = Type.Object({ version: Type.String() })
export type CompaniesVersion = Static<typeof CompaniesVersion>

const Counted = Type.Object({ value: Type.String(), companies: Type.Integer() })

/** `GET /api/tenants/:tenant/companies/choices`: values for the filters, those with the most companies first. */
export const CompanyChoices = Type.Object({
  industry: Type.Array(Counted),
  category: Type.Array(Counted),
  country: Type.Array(Counted),
  classification: Type.Array(Counted),
})
export type CompanyChoices = Static<typeof CompanyChoices>
