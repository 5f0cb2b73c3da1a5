import { type Static, Type } from 'typebox'
import { NamedCounts, NamedSpans } from '../named.ts'

const Share = {
  /** Events with a known domain. */
  events: Type.Integer(),
  /** Attributed to the known domain. */
  right: Type.Integer(),
  /** Attributed to another company. */
  other: Type.Integer(),
  /** Attributed to no company. */
  none: Type.Integer(),
  /** Addresses with attributed events, or their stored part. */
  cases: Type.Integer(),
  /** Right ones of `cases`. A case with people of several companies counts in parts. */
  right_cases: Type.Number(),
  other_cases: Type.Number(),
  /** Addresses with no attributed event. */
  none_cases: Type.Integer(),
  /** `right_cases` as a share of `cases`, 0 to 1, with its 95 % interval; null without a case. */
  precision: Type.Union([Type.Number(), Type.Null()]),
  low: Type.Union([Type.Number(), Type.Null()]),
  high: Type.Union([Type.Number(), Type.Null()]),
}

const NamedShare = Type.Object({ name: Type.String(), ...Share })

export const AccuracyQuery = Type.Object(
  { days: Type.Optional(Type.Integer({ minimum: 1, maximum: 365, default: 30 })) },
  { additionalProperties: false },
)

/** `GET /api/tenants/:tenant/accuracy`: how many events with a known domain were attributed to it. */
export const AccuracyAnswer = Type.Object({
  /** First UTC day of the events, `YYYY-MM-DD`. */
  since: Type.String(),
  /** Events with a work e-mail address that came with a browser key. They are counted nowhere else here. */
  left_out: Type.Integer(),
  /** Without `rules`, as everything below. */
  all: Type.Object(Share),
  /** Events whose company a rule `is` named. */
  rules: Type.Object(Share),
  data_sets: Type.Array(NamedShare),
  classifications: Type.Array(NamedShare),
  qualities: Type.Array(Type.Object({ from: Type.Integer(), to: Type.Integer(), ...Share })),
})
export type AccuracyAnswer = Static<typeof AccuracyAnswer>

/** `GET /api/tenants/:tenant/accuracy/named`: how many events could be named, in the last days and in as many before. */
export const NamedAnswer = Type.Object({
  ...NamedSpans.properties,
  /** Weeks of seven days, the last of which ends today, oldest first. They cover the last days, and are at least two. */
  weeks: Type.Array(NamedCounts),
})
export type NamedAnswer = Static<typeof NamedAnswer>

/** `GET /api/tenants/:tenant/accuracy/proposals`: networks that keep meeting one domain. */
export const ProposalsAnswer = Type.Object({
  since: Type.String(),
  /** See `AccuracyAnswer`. */
  left_out: Type.Integer(),
  proposals: Type.Array(
    Type.Object({
      id: Type.String(),
      /** The rule, without its kind `is`. */
      subject: Type.String(),
      network: Type.String(),
      domain: Type.String(),
      people: Type.Integer(),
      share: Type.Number(),
      days: Type.Integer(),
      events: Type.Integer(),
      /** The company of most of its events today. */
      now: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  /** Rules `is` of the tenant. */
  rules: Type.Array(Type.String()),
})
export type ProposalsAnswer = Static<typeof ProposalsAnswer>
