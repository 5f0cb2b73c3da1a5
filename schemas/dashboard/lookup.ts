import { type Static, Type } from 'typebox'
import { LookupQuota } from '../api/lookup.ts'
import { PAGE_LOOKUP_CHARS_MAX } from './limits.ts'

/** `POST /api/tenants/:tenant/lookup` */
export const PageLookupBody = Type.Object(
  { text: Type.String({ maxLength: PAGE_LOOKUP_CHARS_MAX, description: 'Addresses, with anything between them' }) },
  { additionalProperties: false },
)
export type PageLookupBody = Static<typeof PageLookupBody>

/** What is known of one address, as the rules of the tenant judge its events. */
export const ExplainedAddress = Type.Object({
  ip: Type.String({ description: 'Canonical' }),
  status: Type.Enum(['ok', 'filtered']),
  classification: Type.Union([Type.String(), Type.Null()]),
  quality: Type.Integer(),
  /** What an event would count for; null: no account. */
  company_id: Type.Union([Type.String(), Type.Null()]),
  /** The tenant's rule that decided; null: none did. */
  tenant_rule: Type.Union([Type.String(), Type.Null()]),
  /** What decided on the classification. */
  rule: Type.String(),
  attributes: Type.Array(
    Type.Object({
      name: Type.String(),
      value: Type.Union([Type.String(), Type.Number()]),
      provider: Type.String(),
      /** The network that the provider knows the value of; null for what is known of an AS, and for rules. */
      network: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  /** Providers that know anything of it, in order of trust. */
  answered: Type.Array(Type.String()),
  /** Providers that did not answer in time. */
  partial: Type.Array(Type.String()),
})
export type ExplainedAddress = Static<typeof ExplainedAddress>

export const PageLookupAnswer = Type.Object({
  /** Each address once, in the order of the text. */
  results: Type.Array(ExplainedAddress),
  /** What is no address: the first `SKIPPED_MAX`, and how many there are. */
  skipped: Type.Array(Type.String()),
  skipped_count: Type.Integer(),
  /** Who was asked, in order of trust. */
  asked: Type.Array(Type.String()),
  /** What the licences of data in the results want to be said. */
  attributions: Type.Array(Type.Object({ provider: Type.String(), text: Type.String() })),
  quota: LookupQuota,
})
export type PageLookupAnswer = Static<typeof PageLookupAnswer>
