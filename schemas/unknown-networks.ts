import { type Static, Type } from 'typebox'

/** Limits of questions about visits without a company. */
export const UNKNOWN_LIMITS = { rows: 100, rowsMax: 500, days: 30, daysMax: 366 } as const

/**
 * Why visits have no company, by what is stored of them. `doubtful`: the name may be an access provider's or a hosting provider's, or the tenant keeps
 * names of unknown class as events. `unnamed`: a private person, or no usable name. `kept`: infrastructure that the rule `keep` stores.
 * `unknown`: no data know the address.
 */
export const UNKNOWN_REASONS = ['doubtful', 'unnamed', 'kept', 'unknown'] as const
export type UnknownReason = (typeof UNKNOWN_REASONS)[number]

/** A network whose visits have no company, and whose events name no account. Unknown texts are empty. */
export const UnknownNetwork = Type.Object(
  {
    asn: Type.Integer({ description: 'Number of the autonomous system; 0: unknown' }),
    as_name: Type.String({ description: 'Its name; empty for a private person' }),
    name: Type.String({ description: 'The readable name, for a rule `is`' }),
    country_code: Type.String({
      description: 'The country of most events; empty for `unknown`, which is many networks',
    }),
    reason: Type.Enum([...UNKNOWN_REASONS], {
      description:
        '`doubtful`: the name may be an access provider’s or a hosting provider’s, or the tenant keeps names of unknown class as events; `unnamed`: ' +
        'a private person, or no usable name; `kept`: infrastructure that the rule `keep` stores; `unknown`: no data know the address',
    }),
    visits: Type.Integer(),
    events: Type.Integer(),
    last_seen: Type.String({ description: 'RFC 3339, UTC' }),
    rule: Type.Union([Type.String(), Type.Null()], {
      description: 'The rule of the tenant that makes it a company from now on; null: none',
    }),
  },
  { title: 'UnknownNetwork' },
)
export type UnknownNetwork = Static<typeof UnknownNetwork>

/** Answer of `GET /v1/unknown-networks` and of `GET /api/tenants/:tenant/companies/unknown`. */
export const UnknownNetworksAnswer = Type.Object(
  {
    from: Type.String({ description: 'First UTC day of the timestamps' }),
    to: Type.String({ description: 'Last UTC day: today' }),
    visits: Type.Integer({ description: 'Visits of all networks' }),
    total: Type.Integer({ description: 'Number of all networks' }),
    networks: Type.Array(UnknownNetwork, {
      maxItems: UNKNOWN_LIMITS.rowsMax,
      description: 'Those with the most visits, the most first',
    }),
  },
  { title: 'UnknownNetworkList' },
)
export type UnknownNetworksAnswer = Static<typeof UnknownNetworksAnswer>

const { rows, rowsMax, days, daysMax } = UNKNOWN_LIMITS

/** A question about visits without a company. */
export const UnknownQuery = Type.Object(
  {
    days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: daysMax, default: days, description: 'UTC days, today included' }),
    ),
    reason: Type.Optional(Type.Enum([...UNKNOWN_REASONS], { description: 'Only networks with this reason' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: rowsMax, default: rows, description: 'Networks' })),
  },
  { additionalProperties: false },
)
export type UnknownQuery = Static<typeof UnknownQuery>

/** `GET /api/tenants/:tenant/companies/unknown/visits`: their number on the last `UNKNOWN_LIMITS.days` days. */
export const UnknownVisits = Type.Object({ days: Type.Integer(), visits: Type.Integer() })
export type UnknownVisits = Static<typeof UnknownVisits>
