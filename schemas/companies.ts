import { type Static, Type } from 'typebox'
import { FACT_LIMITS, OwnValues } from './facts.ts'

/** Limits of calls about companies, for pages, programs and the API. */
export const COMPANY_LIMITS = {
  searchMaxChars: 200,
  valueMaxChars: 500,
  whereMaxChars: 8_000,
  /** Values of one filter. */
  valuesMax: 100,
  /** Days that a filter looks back. */
  daysMax: 3_660,
  /** Days that filters by events look back without days of their own, for example filters by page. */
  eventDays: 30,
  /** Days of one company that a page shows. */
  companyDays: 90,
  companyDaysMax: 366,
  countMax: 1_000_000_000_000,
  pageRows: 50,
  pageRowsMax: 200,
  offsetMax: 10_000_000,
  exportRows: 1_000_000,
  /** Companies that a person can choose in a list. */
  chosenMax: 1_000,
  /** Days of a row's sparkline. */
  sparkDays: 30,
  choices: 500,
  heatMax: 100,
  recentEvents: 50,
  /** For each of `properties`, `user_properties` and `extra` of a recent event. */
  propertiesMaxChars: 16_384,
  /** Addresses of a company, those with the most events, to look up for its networks and cities. */
  addresses: 500,
  sources: 20,
  accounts: 100,
} as const

/** How well a company fits what a tenant says about good ones, the best first (src/companies/README.md, Fit). */
export const FIT_LEVELS = ['good', 'ok', 'poor'] as const
export type FitLevel = (typeof FIT_LEVELS)[number]

/** A filter's value that matches companies without a known value. */
export const NOT_KNOWN = '-'

const Day = (description: string) => Type.Optional(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description }))
const AnyOf = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: COMPANY_LIMITS.valueMaxChars }), {
      maxItems: COMPANY_LIMITS.valuesMax,
      description,
    }),
  )
const Count = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: COMPANY_LIMITS.countMax, description }))

const Heat = (description: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: COMPANY_LIMITS.heatMax,
      description: `${description}: interest of the last 30 days, 0 to ${COMPANY_LIMITS.heatMax}`,
    }),
  )

/** Filters with a list of values. `NAME` keeps companies with any of them, `NAME_not` those with none. */
const lists = {
  industry: AnyOf('Any of these industries; `-` is an unknown one'),
  industry_not: AnyOf('None of these industries'),
  category: AnyOf('Any of these groups of industries'),
  category_not: AnyOf('None of these groups of industries'),
  country: AnyOf('Any of these countries, ISO 3166-1 alpha-2'),
  country_not: AnyOf('None of these countries'),
  classification: AnyOf('business, education or government'),
  classification_not: AnyOf('None of these classes'),
  tag: AnyOf('Any of these tags that people gave; `-` is a company without tags'),
  tag_not: AnyOf('None of these tags'),
  owner: AnyOf('Looked after by any of these people; `-` is a company without an owner'),
  owner_not: AnyOf('Looked after by none of these people'),
  status: AnyOf('Any of these statuses that people gave, such as `customer`; `-` is a company without one'),
  status_not: AnyOf('None of these statuses'),
  fit: AnyOf(
    'Any of these fits: `good`, `ok` or `poor`; `-` is that of a tenant that says nothing about good companies',
  ),
  fit_not: AnyOf('None of these fits'),
  source: AnyOf('An event of any of these sources, by id or name; `-` is an API key'),
  source_not: AnyOf('No event of these sources'),
  campaign: AnyOf('An event of any of these campaigns (`utm_campaign`)'),
  campaign_not: AnyOf('No event of these campaigns'),
  first_channel: AnyOf('First touch by any of these channels, such as `paid search`; `-` is a company without one'),
  first_channel_not: AnyOf('First touch by none of these channels'),
  last_channel: AnyOf('Last touch by any of these channels; `-` is a company without one'),
  last_channel_not: AnyOf('Last touch by none of these channels'),
  first_campaign: AnyOf('First touch of any of these campaigns; `-` is one without a campaign'),
  first_campaign_not: AnyOf('First touch of none of these campaigns'),
  last_campaign: AnyOf('Last touch of any of these campaigns; `-` is one without a campaign'),
  last_campaign_not: AnyOf('Last touch of none of these campaigns'),
}

/**
 * Selects companies of a tenant. All conditions must hold. Conditions on events (`page`, `page_contains`, `source`, `campaign`) and counts look at the days
 * of the filter; conditions on events look at the last 30 days when it has none.
 */
export const FILTER_PROPERTIES = {
  search: Type.Optional(
    Type.String({
      maxLength: COMPANY_LIMITS.searchMaxChars,
      description:
        'A part of the name, the domain or the id, in upper or lower case; no character has a special meaning',
    }),
  ),
  ...lists,
  own: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: COMPANY_LIMITS.valueMaxChars }), {
      maxItems: FACT_LIMITS.terms,
      description:
        'Conditions on own columns, such as `revenue>=1000000`, `account_manager=Ada` or `renewal<2027-01-01`. After the key of the column ' +
        'comes `=`, `!=`, `~` (contains, in upper or lower case), `>=`, `>`, `<=` or `<`; these four compare numbers or dates. `-` is no value. ' +
        'Several `=` of a column mean any of the values; all other conditions must hold',
    }),
  ),
  page: AnyOf(
    'An event on any of these pages: host without `www.` and path, such as `shop.example/pricing`. A path alone, such as `/pricing`, is ' +
      'that path on any host; `-` in place of the host means events that name none. Upper and lower case differ',
  ),
  page_contains: AnyOf('An event on a page whose URL contains any of these texts, in upper or lower case'),
  page_visits_min: Count(
    'At least this many visits with an event on those pages: needs either `page` or `page_contains`',
  ),
  visits_min: Count('At least this many visits'),
  visits_max: Count('At most this many visits'),
  events_min: Count('At least this many events'),
  events_max: Count('At most this many events'),
  heat_min: Heat('At least this heat'),
  heat_max: Heat('At most this heat'),
  hidden: Type.Optional(
    Type.Enum(['without', 'only', 'with'], {
      description: 'Companies that people hid are left out; `only` lists these, `with` lists all',
    }),
  ),
  merged: Type.Optional(Type.Enum(['only'], { description: '`only`: companies that people merged others into' })),
  days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: COMPANY_LIMITS.daysMax,
      description: 'The last UTC days, today included: instead of `from` and `to`',
    }),
  ),
  from: Day('First UTC day: limits the companies to those with events, and the counts, to these days'),
  to: Day('Last UTC day'),
  new_since: Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,3})?Z)?$',
      description: 'Companies first seen at or after this moment, ISO 8601 UTC',
    }),
  ),
  new_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: COMPANY_LIMITS.daysMax,
      description: 'Companies first seen on the last UTC days, today included. A segment moves on with them',
    }),
  ),
  condition: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: COMPANY_LIMITS.whereMaxChars,
      description:
        'An expression that must hold too: `(country=DE or heat>=50) and not tag=customer`. It has terms as in `where`, `and`, `or`, `not` and ' +
        'parentheses, without `days`, `from`, `to`, `hidden`, `merged` and `page_visits`',
    }),
  ),
}

export const CompanyFilter = Type.Object(FILTER_PROPERTIES, { additionalProperties: false })
export type CompanyFilter = Static<typeof CompanyFilter>

/** Channels of touches (src/companies/README.md, Touches). */
export const CHANNELS = [
  'direct',
  'paid search',
  'paid social',
  'display',
  'other paid',
  'organic social',
  'organic search',
  'referral',
  'email',
  'affiliates',
  'other campaign',
] as const
export type Channel = (typeof CHANNELS)[number]

/** Where a visitor of a company came from, and when. Unknown texts are empty. */
export const Touch = Type.Object({
  /** ISO 8601, UTC. */
  at: Type.String(),
  channel: Type.Enum([...CHANNELS]),
  /** `utm_source`, the network of a click id, or the host of a referrer; in lower case. */
  source: Type.String(),
  /** `utm_medium`, `cpc` of a click id, or `referral`; in lower case. */
  medium: Type.String(),
  campaign: Type.String(),
})
export type Touch = Static<typeof Touch>

/** Columns that a list of companies can be sorted by. */
export const COMPANY_SORTS = [
  'name',
  'domain',
  'industry',
  'country_code',
  'classification',
  'events',
  'visits',
  'unique_ips',
  'heat',
  'fit',
  'first_seen',
  'last_seen',
  'quality',
] as const
export type CompanySort = (typeof COMPANY_SORTS)[number]

export const ORDER_PROPERTIES = {
  sort: Type.Optional(Type.Enum([...COMPANY_SORTS])),
  direction: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
}

/** Filters and order of a list. */
export const CompanyView = Type.Object({ ...FILTER_PROPERTIES, ...ORDER_PROPERTIES }, { additionalProperties: false })
export type CompanyView = Static<typeof CompanyView>

/** A company in a list. Unknown texts are empty. */
export const CompanyRow = Type.Object({
  company_id: Type.String(),
  name: Type.String({ description: 'The business name, else the full name, else the id' }),
  domain: Type.String(),
  industry: Type.String(),
  industry_category: Type.String(),
  country_code: Type.String(),
  classification: Type.String(),
  events: Type.Integer({ description: 'On the requested days, or on all' }),
  first_seen: Type.String({ format: 'rfc3339', description: 'Its first event of all days, UTC' }),
  last_seen: Type.String({ format: 'rfc3339', description: 'Its last event of all days, UTC' }),
  quality: Type.Integer(),
  tags: Type.Array(Type.String(), { description: 'As people gave them, sorted' }),
  owner: Type.String({ description: 'The person who looks after it' }),
  status: Type.String({ description: '`customer`, `open deal`, … as people gave it' }),
  own: OwnValues,
  fit: Type.String({ description: '`good`, `ok` or `poor`; empty: the tenant says nothing about good companies' }),
  fit_reasons: Type.Array(Type.String(), {
    description: 'The signs of good companies that it has; of a poor one the signs against it',
  }),
  hidden: Type.Boolean({ description: 'Whether people hid it: only a filter or its own page shows it' }),
})
export type CompanyRow = Static<typeof CompanyRow>

const details = {
  visits: Type.Integer({
    description:
      "Distinct pairs of address and day, on the same days as `events`. Days are UTC in the API, and of the tenant's time zone elsewhere",
  }),
  unique_ips: Type.Integer(),
  heat: Type.Integer({ description: 'Interest of the last 30 days, 0 to 100' }),
  first_channel: Type.String({ description: 'Of its first touch of all time; empty: it has none' }),
  first_campaign: Type.String({ description: 'Of the same touch' }),
  last_channel: Type.String({ description: 'Of its last touch; empty: it has none' }),
  last_campaign: Type.String({ description: 'Of the same touch' }),
}

/** The parts of a heat (src/companies/README.md, Heat). */
export const CompanyHeat = Type.Object({
  /** 0 to 100: the sum of the four parts. */
  heat: Type.Integer(),
  recency: Type.Integer(),
  frequency: Type.Integer(),
  depth: Type.Integer(),
  intent: Type.Integer(),
  /** Days since the last day with an event, of the last 30; 0: today. */
  days_ago: Type.Integer(),
  /** Days with events, of the last 30. */
  active_days: Type.Integer(),
  events_per_day: Type.Number(),
  /** Days with an intent page. */
  intent_days: Type.Integer(),
})
export type CompanyHeat = Static<typeof CompanyHeat>

/** How the heat of the companies of a tenant is spread. Companies without heat do not count. */
export const HeatLevels = Type.Object({
  /** Half of the companies have this heat or more; null: no company has any. */
  median: Type.Union([Type.Integer(), Type.Null()]),
  /** A tenth of the companies has this heat or more. */
  top: Type.Union([Type.Integer(), Type.Null()]),
})
export type HeatLevels = Static<typeof HeatLevels>

/** A company with the counts of its addresses, its heat and its touches, which take longer. */
export const CountedCompany = Type.Object({ ...CompanyRow.properties, ...details })
export type CountedCompany = Static<typeof CountedCompany>

const Counted = Type.Object({ value: Type.String(), companies: Type.Integer() })
export type CountedValue = Static<typeof Counted>

/** Values of a filter, those with the most companies first. Unknown is empty. */
export const CompanyChoices = Type.Object({
  industry: Type.Array(Counted),
  category: Type.Array(Counted),
  country: Type.Array(Counted),
  classification: Type.Array(Counted),
  tag: Type.Array(Counted),
  owner: Type.Array(Counted),
  status: Type.Array(Counted),
  fit: Type.Array(Counted),
  source: Type.Array(Counted),
  campaign: Type.Array(Counted),
  first_channel: Type.Array(Counted),
  last_channel: Type.Array(Counted),
  first_campaign: Type.Array(Counted),
  last_campaign: Type.Array(Counted),
})
export type CompanyChoices = Static<typeof CompanyChoices>
