import { type Static, Type } from 'typebox'
import { ATTRIBUTES } from '../attributes.ts'
import { LookupData } from './attributes.ts'
import { QUALITY } from './event.ts'

/** Limits of one lookup. */
export const LOOKUP_LIMITS = {
  deadlineMinMs: 1,
  deadlineMaxMs: 10_000,
  qualityMax: 100,
  /** Names in each of `fields`, `redact`, `providers.allow` and `providers.deny`. */
  namesMax: 100,
  bodyMaxBytes: 1_048_576,
} as const

const providerNames = (description: string) =>
  Type.Optional(Type.Array(Type.String(), { maxItems: LOOKUP_LIMITS.namesMax, description }))

const optionFields = {
  fields: Type.Optional(
    Type.Array(Type.Enum([...ATTRIBUTES]), {
      maxItems: LOOKUP_LIMITS.namesMax,
      description:
        'Attributes to include; all when it is left out. hostname, when it is named here, is asked of name servers',
    }),
  ),
  redact: Type.Optional(
    Type.Array(Type.Enum([...ATTRIBUTES, 'geo']), {
      maxItems: LOOKUP_LIMITS.namesMax,
      description: 'Attributes to remove, also from fields; geo removes all location attributes',
    }),
  ),
  providers: Type.Optional(
    Type.Object(
      { allow: providerNames('Only these are asked'), deny: providerNames('These are not asked') },
      {
        description: 'Names of providers: the data sets that are loaded, and rdns, which is asked when allow names it',
      },
    ),
  ),
  deadline_ms: Type.Optional(
    Type.Number({
      minimum: LOOKUP_LIMITS.deadlineMinMs,
      maximum: LOOKUP_LIMITS.deadlineMaxMs,
      description: 'Time for the lookup of an address, milliseconds; what is known by then is the answer',
    }),
  ),
  quality_min: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: LOOKUP_LIMITS.qualityMax,
      description: 'A result of lower quality has the status insufficient_quality',
    }),
  ),
}

/** What a caller may choose about a lookup, and about each of a bulk. */
export const LookupChoices = Type.Object(optionFields)
export type LookupChoices = Static<typeof LookupChoices>

/** `POST /v1/lookup` (schemas/README.md, Lookup); every field may be a query parameter instead. */
export const LookupRequest = Type.Object({
  ip: Type.String({
    description:
      'IPv4 or IPv6 address; one that carries an IPv4 address (mapped, NAT64, 6to4, Teredo) is looked up as that',
  }),
  ...optionFields,
})
export type LookupRequest = Static<typeof LookupRequest>

const resultFields = {
  ip: Type.String({ description: 'The address as it was sent' }),
  tenant_id: Type.String(),
  quality: Type.Integer({ minimum: 0, maximum: LOOKUP_LIMITS.qualityMax, description: QUALITY }),
  status: Type.Enum(['ok', 'insufficient_quality']),
  data: LookupData,
  partial: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Providers that did not answer before the deadline; left out when all did',
    }),
  ),
}

/** Result of one address. */
export const LookupResult = Type.Object(resultFields)
export type LookupResult = Static<typeof LookupResult>

/** The daily lookup quota after the request. */
export const LookupQuota = Type.Object({
  daily_limit: Type.Integer(),
  daily_used: Type.Integer(),
  daily_remaining: Type.Integer({ minimum: 0 }),
  reset_at: Type.String({ description: 'Start of the next UTC day, like 2026-11-22T00:00:00+00:00' }),
})
export type LookupQuota = Static<typeof LookupQuota>

/** Answer of `POST /v1/lookup` (schemas/README.md, Lookup). */
export const LookupResponse = Type.Object({ ...resultFields, quota: LookupQuota })
export type LookupResponse = Static<typeof LookupResponse>
