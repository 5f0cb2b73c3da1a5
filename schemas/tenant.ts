import { type Static, Type } from './type.ts'

/** What is stored of the addresses of a tenant's events, see README.md, Addresses. */
export const Addresses = Type.Union([Type.Literal('full'), Type.Literal('truncated'), Type.Literal('dropped')])
export type Addresses = Static<typeof Addresses>

/** A tenant as JSON in Redis; its id is the field of the hash. */
export const TenantRecord = Type.Object({
  plan: Type.String({ description: 'Name of a plan' }),
  archive: Type.Boolean({ description: 'Whether raw payloads are archived' }),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  addresses: Type.Optional(Addresses),
  address_key: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'Key of the pseudonyms of addresses; made when they are first not kept, and the same for ever',
    }),
  ),
})
export type TenantRecord = Static<typeof TenantRecord>

/** What can be changed of a tenant; the rest stays. */
export type TenantChange = Partial<Pick<TenantRecord, 'plan' | 'archive' | 'addresses'>>
