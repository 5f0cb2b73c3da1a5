import { type Static, Type } from 'typebox'
import { ATTRIBUTES } from '../attributes.ts'
import { LookupData } from './attributes.ts'
import { QUALITY } from './event.ts'

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
      description: 'Attributes to include; default: all. If hostname is listed, name servers are asked',
    }),
  ),
  redact: Type.Optional(
    Type.Array(Type.Enum([...ATTRIBUTES, 'geo']), {
      maxItems: LOOKUP_LIMITS.namesMax,
      description: 'Attributes to remove, even those in fields; geo removes all location attributes',
    }),
  ),
  providers: Type.Optional(
    Type.Object(
      { allow: providerNames('Only these are asked'), deny: providerNames('These are not asked') },
      {
        additionalProperties: false,
        description: 'Names of providers: the loaded data sets, and rdns, which is asked only if allow names it',
      },
    ),
  ),
  deadline_ms: Type.Optional(
    Type.Number({
      minimum: LOOKUP_LIMITS.deadlineMinMs,
      maximum: LOOKUP_LIMITS.deadlineMaxMs,
      description: 'Time limit per address in milliseconds; the answer has what is known by then',
    }),
  ),
  quality_min: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: LOOKUP_LIMITS.qualityMax,
      description: 'A result of lower quality gets the status insufficient_quality',
    }),
  ),
}

/** Options of a lookup or a bulk lookup. */
export const LookupChoices = Type.Object(optionFields)
export type LookupChoices = Static<typeof LookupChoices>

/** `POST /v1/lookup` (schemas/README.md, Lookup); every field may be a query parameter instead. */
export const LookupRequest = Type.Object(
  {
    ip: Type.String({
      format: 'ip',
      description:
        'IPv4 or IPv6 address; IPv6 that contains an IPv4 address (mapped, NAT64, 6to4, Teredo) is looked up as IPv4',
    }),
    ...optionFields,
  },
  { title: 'LookupRequest', additionalProperties: false },
)
export type LookupRequest = Static<typeof LookupRequest>

const resultFields = {
  ip: Type.String({ description: 'The address as sent' }),
  tenant_id: Type.String(),
  quality: Type.Integer({ minimum: 0, maximum: LOOKUP_LIMITS.qualityMax, description: QUALITY }),
  status: Type.Enum(['ok', 'insufficient_quality']),
  data: LookupData,
  partial: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Providers that did not answer before the deadline; absent when all did',
    }),
  ),
}

/** Result of one address. */
export const LookupResult = Type.Object(resultFields, { title: 'LookupResult' })

/** The daily lookup quota after the request. */
export const LookupQuota = Type.Object(
  {
    daily_limit: Type.Integer(),
    daily_used: Type.Integer(),
    daily_remaining: Type.Integer({ minimum: 0 }),
    reset_at: Type.String({ description: 'Start of the next UTC day, like 2026-11-22T00:00:00+00:00' }),
  },
  { title: 'Quota' },
)
export type LookupQuota = Static<typeof LookupQuota>

/** Answer of `POST /v1/lookup` (schemas/README.md, Lookup). */
export const LookupResponse = Type.Object({ ...resultFields, quota: LookupQuota }, { title: 'Lookup' })
export type LookupResponse = Static<typeof LookupResponse>
