import { type Static, Type } from 'typebox'
import { COMPANY_LIMITS, CompanyHeat, CountedCompany } from '../companies.ts'

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

/** `GET /api/tenants/:tenant/companies/of/:company` */
export const CompanyQuery = Type.Object(
  { days: Type.Optional(Type.Integer({ minimum: 1, maximum: COMPANY_LIMITS.companyDaysMax })) },
  { additionalProperties: false },
)
export type CompanyQuery = Static<typeof CompanyQuery>

export const CompanyDay = Type.Object({ day: Type.String(), events: Type.Integer(), visits: Type.Integer() })
export type CompanyDay = Static<typeof CompanyDay>

/** A value, and the number of events with it on the shown days. */
export const CompanySource = Type.Object({ value: Type.String(), events: Type.Integer() })
export type CompanySource = Static<typeof CompanySource>

export const CompanyEvent = Type.Object({
  event_id: Type.String(),
  timestamp: Type.String(),
  received_at: Type.String(),
  event_type: Type.String(),
  platform: Type.String(),
  account_id: Type.String(),
  /** As stored: may be a pseudonym. */
  ip: Type.String(),
  /** JSON as sent; may be empty. */
  properties: Type.String(),
  user_properties: Type.String(),
  extra: Type.String(),
  /** Whether long JSON was cut. */
  is_cut: Type.Boolean(),
})
export type CompanyEvent = Static<typeof CompanyEvent>

/** A value, and the provider that it comes from. */
const ExplainedValue = Type.Object({
  attribute: Type.String(),
  value: Type.String(),
  provider: Type.String(),
  network: Nullable(Type.String()),
  /** The word of the organisation's name that states the value, with its measured precision. Null for all others. */
  word: Nullable(Type.String()),
  precision: Nullable(Type.Number()),
})

/** Why an address belongs to this company, as `ipid enrich --explain` says today. */
export const CompanyReason = Type.Object({
  ip: Type.String(),
  /** Events of the address on the shown days. */
  events: Type.Integer(),
  /** Whether today's data name this company too. */
  is_same: Type.Boolean(),
  values: Type.Array(ExplainedValue),
  /** The evidence for the classification. */
  rule: Type.String(),
  asked: Type.Array(Type.String()),
  answered: Type.Array(Type.String()),
})
export type CompanyReason = Static<typeof CompanyReason>

export const CompanyAnswer = Type.Object({
  company: CountedCompany,
  /** Null: no event in the last 30 days. */
  heat: Nullable(CompanyHeat),
  /** Accounts with the most events. */
  accounts: Type.Array(CompanySource),
  /** First and last day of everything below: the last days on which the company was seen. */
  from: Type.String(),
  to: Type.String(),
  /** Days with events, in order. */
  days: Type.Array(CompanyDay),
  /** This and the following lists have the values with the most events first. `as` is `AS64500 Name`, or empty. */
  as: Type.Array(CompanySource),
  event_types: Type.Array(CompanySource),
  platforms: Type.Array(CompanySource),
  /** By today's data, for the addresses with the most events. */
  networks: Type.Array(CompanySource),
  cities: Type.Array(CompanySource),
  /** Events of the addresses in `networks` and `cities`, and of all addresses. */
  located_events: Type.Integer(),
  all_events: Type.Integer(),
  /** For its most frequent address; null when no address is stored. */
  reason: Nullable(CompanyReason),
  /** `full`: addresses of these events are stored. Otherwise networks, cities and the reason are missing. */
  addresses: Type.Union([Type.Literal('full'), Type.Literal('masked'), Type.Literal('none')]),
  events: Type.Array(CompanyEvent),
})
export type CompanyAnswer = Static<typeof CompanyAnswer>
