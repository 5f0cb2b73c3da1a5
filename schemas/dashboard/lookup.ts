import { type Static, Type } from 'typebox'
import { LookupQuota } from '../api/lookup.ts'
import { PAGE_LOOKUP_CHARS_MAX } from './limits.ts'

/** `POST /api/tenants/:tenant/lookup` */
export const PageLookupBody = Type.Object(
  { text: Type.String({ maxLength: PAGE_LOOKUP_CHARS_MAX, description: 'Addresses, with anything between them' }) },
  { additionalProperties: false },
)
export type PageLookupBody = Static<typeof PageLookupBody>

/** The facts about an address, by the tenant's rules. */
export const ExplainedAddress = Type.Object({
  ip: Type.String({ description: 'Canonical' }),
  status: Type.Enum(['ok', 'filtered']),
  classification: Type.Union([Type.String(), Type.Null()]),
  quality: Type.Integer(),
  /** The account of an event from this address; null: none. */
  company_id: Type.Union([Type.String(), Type.Null()]),
  /** The tenant's rule that decided, if any. */
  tenant_rule: Type.Union([Type.String(), Type.Null()]),
  /** The evidence for the classification. */
  rule: Type.String(),
  attributes: Type.Array(
    Type.Object({
      name: Type.String(),
      value: Type.Union([Type.String(), Type.Number()]),
      provider: Type.String(),
      /** The network that has the value. Null for facts about an AS, and for rules. */
      network: Type.Union([Type.String(), Type.Null()]),
      /** The word of the organisation's name that states the value, with its measured precision. Null for all others. */
      word: Type.Union([Type.String(), Type.Null()]),
      precision: Type.Union([Type.Number(), Type.Null()]),
    }),
  ),
  /** Providers with facts about the address, in order of trust. */
  answered: Type.Array(Type.String()),
  /** Providers that did not answer in time. */
  partial: Type.Array(Type.String()),
})
export type ExplainedAddress = Static<typeof ExplainedAddress>

export const PageLookupAnswer = Type.Object({
  /** Each address once, in the order of the text. */
  results: Type.Array(ExplainedAddress),
  /** Texts that are not addresses: the first `SKIPPED_MAX`, and their total number. */
  skipped: Type.Array(Type.String()),
  skipped_count: Type.Integer(),
  /** Providers that were asked, in order of trust. */
  asked: Type.Array(Type.String()),
  /** Texts that the licences of the data require. */
  attributions: Type.Array(Type.Object({ provider: Type.String(), text: Type.String() })),
  quota: LookupQuota,
})
export type PageLookupAnswer = Static<typeof PageLookupAnswer>
