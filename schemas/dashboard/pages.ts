import { type Static, Type } from 'typebox'

/** Limits of the calls about pages. */
export const PAGE_LIMITS = {
  rows: 50,
  rowsMax: 100,
  offsetMax: 100_000,
  searchMaxChars: 200,
  /** Days of a view at most: the page of an event is computed when it is read. */
  daysMax: 92,
  /** Companies that a row names. */
  shownCompanies: 3,
  /** Companies of one page in a part of their list. */
  companies: 50,
} as const

const Day = (description: string) => Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description })
const days = { from: Day('First day'), to: Day('Last day') }

/** `GET /api/tenants/:tenant/pages` */
export const PagesQuery = Type.Object(
  {
    ...days,
    search: Type.Optional(
      Type.String({ maxLength: PAGE_LIMITS.searchMaxChars, description: 'A part of the host and path, in any case' }),
    ),
    sort: Type.Optional(Type.Enum(['companies', 'visits', 'events'])),
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: PAGE_LIMITS.offsetMax })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_LIMITS.rowsMax })),
  },
  { additionalProperties: false },
)
export type PagesQuery = Static<typeof PagesQuery>

/** A page, without its query. */
export const PageRow = Type.Object({
  /** Without `www.`; empty when events name a path alone. */
  host: Type.String(),
  path: Type.String(),
  /** Known companies with an event on it. */
  companies: Type.Integer(),
  /** Distinct pairs of address and day, summed over companies. */
  visits: Type.Integer(),
  events: Type.Integer(),
  /** Visits of each day of the view. */
  daily_visits: Type.Array(Type.Integer()),
  /** Some of the companies with the most visits. */
  top: Type.Array(Type.Object({ company_id: Type.String(), name: Type.String() })),
})
export type PageRow = Static<typeof PageRow>

export const PagesAnswer = Type.Object({
  rows: Type.Array(PageRow),
  /** Pages on all parts of the list. */
  total: Type.Integer(),
})
export type PagesAnswer = Static<typeof PagesAnswer>

/** `GET /api/tenants/:tenant/pages/companies` */
export const PageCompaniesQuery = Type.Object(
  {
    ...days,
    host: Type.Optional(Type.String({ maxLength: 2_048 })),
    path: Type.String({ maxLength: 2_048 }),
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: PAGE_LIMITS.offsetMax })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_LIMITS.companies })),
  },
  { additionalProperties: false },
)
export type PageCompaniesQuery = Static<typeof PageCompaniesQuery>

export const PageCompany = Type.Object({
  company_id: Type.String(),
  name: Type.String(),
  domain: Type.String(),
  country_code: Type.String(),
  visits: Type.Integer(),
  events: Type.Integer(),
  /** ISO 8601, UTC */
  last_read: Type.String(),
})
export type PageCompany = Static<typeof PageCompany>

/** Those with the most visits first. */
export const PageCompaniesAnswer = Type.Object({
  rows: Type.Array(PageCompany),
  /** Companies on all parts of the list. */
  total: Type.Integer(),
})
export type PageCompaniesAnswer = Static<typeof PageCompaniesAnswer>
