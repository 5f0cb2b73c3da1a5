import { type Static, Type } from 'typebox'
import { CountedCompany } from './companies.ts'

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

/** `GET /api/tenants/:tenant/companies/of/:company` */
export const CompanyQuery = Type.Object(
  { days: Type.Optional(Type.Integer({ minimum: 1, maximum: 366 })) },
  { additionalProperties: false },
)
export type CompanyQuery = Static<typeof CompanyQuery>

export const CompanyDay = Type.Object({ day: Type.String(), events: Type.Integer(), visits: Type.Integer() })
export type CompanyDay = Static<typeof CompanyDay>

/** Something that events come from or are, and how many of the days that are shown. */
export const CompanySource = Type.Object({ value: Type.String(), events: Type.Integer() })
export type CompanySource = Static<typeof CompanySource>

export const CompanyEvent = Type.Object({
  event_id: Type.String(),
  timestamp: Type.String(),
  received_at: Type.String(),
  event_type: Type.String(),
  platform: Type.String(),
  account_id: Type.String(),
  /** As it is stored: a pseudonym where addresses are not kept. */
  ip: Type.String(),
  /** JSON as it was sent; empty when it was not. */
  properties: Type.String(),
  user_properties: Type.String(),
  extra: Type.String(),
  /** Some of the JSON is too long to be shown, and cut. */
  is_cut: Type.Boolean(),
})
export type CompanyEvent = Static<typeof CompanyEvent>

/** Where one value of an answer comes from. */
export const ExplainedValue = Type.Object({
  attribute: Type.String(),
  value: Type.String(),
  provider: Type.String(),
  network: Nullable(Type.String()),
})
export type ExplainedValue = Static<typeof ExplainedValue>

/** Why an address is taken for this company: what `ipid enrich --explain` says of it today. */
export const CompanyReason = Type.Object({
  ip: Type.String(),
  /** Events of the address in the days that are shown. */
  events: Type.Integer(),
  /** Today's data names this company. When not, it has changed since. */
  is_same: Type.Boolean(),
  values: Type.Array(ExplainedValue),
  /** What decided on the classification. */
  rule: Type.String(),
  asked: Type.Array(Type.String()),
  answered: Type.Array(Type.String()),
})
export type CompanyReason = Static<typeof CompanyReason>

export const CompanyAnswer = Type.Object({
  company: CountedCompany,
  /** Of the sender's or the company's own; those with the most events. */
  accounts: Type.Array(CompanySource),
  /** First and last UTC day of all that follows: the last days in which the company was seen. */
  from: Type.String(),
  to: Type.String(),
  /** Days with events, in their order. */
  days: Type.Array(CompanyDay),
  /** Those with the most events come first. `as` is written `AS64500 Name`, or empty. */
  as: Type.Array(CompanySource),
  event_types: Type.Array(CompanySource),
  platforms: Type.Array(CompanySource),
  /** Known by today's data, of the addresses with the most events. */
  networks: Type.Array(CompanySource),
  cities: Type.Array(CompanySource),
  /** Events of the addresses that networks and cities speak of, and of all. */
  located_events: Type.Integer(),
  all_events: Type.Integer(),
  /** Of its most frequent address; null when no address is kept. */
  reason: Nullable(CompanyReason),
  /** Whether addresses of these events were stored in full; else networks, cities and the reason are missing. */
  addresses: Type.Union([Type.Literal('full'), Type.Literal('masked'), Type.Literal('none')]),
  events: Type.Array(CompanyEvent),
})
export type CompanyAnswer = Static<typeof CompanyAnswer>
