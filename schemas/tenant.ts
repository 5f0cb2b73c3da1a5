import { type Static, Type } from 'typebox'
import { RULES_MAX, UNCLASSIFIED } from './tenant-rules.ts'

/** A hundred years. */
export const RETENTION_DAYS_MAX = 36_500

/** What is stored of the addresses of a tenant's events (schemas/README.md, Addresses). */
export const Addresses = Type.Union([Type.Literal('full'), Type.Literal('truncated'), Type.Literal('dropped')])
export type Addresses = Static<typeof Addresses>

/** A tenant as JSON in Redis; its id is the field of the hash. */
export const TenantRecord = Type.Object({
  plan: Type.String({ description: 'Name of a plan' }),
  archive: Type.Boolean({ description: 'Whether raw payloads are archived' }),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  retention_days: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0, maximum: RETENTION_DAYS_MAX }), Type.Null()], {
      description: 'Whole days that events are kept; 0: for ever; null: as RETENTION_DAYS says',
    }),
  ),
  deleting: Type.Optional(Type.Literal(true, { description: 'Its removal was begun: it has no keys any more' })),
  addresses: Type.Optional(Addresses),
  unclassified: Type.Optional(
    Type.Enum([...UNCLASSIFIED], { description: 'What becomes of organisations whose class nothing speaks for' }),
  ),
  rules: Type.Optional(
    Type.Array(Type.String(), { maxItems: RULES_MAX, description: 'Each a kind and a subject: `own 203.0.113.0/24`' }),
  ),
  address_key: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'Key of the pseudonyms of addresses; made when they are first not kept, and the same for ever',
    }),
  ),
})
export type TenantRecord = Static<typeof TenantRecord>

/** What can be changed of a tenant; the rest stays. */
export const TenantChange = Type.Partial(
  Type.Pick(TenantRecord, ['plan', 'archive', 'retention_days', 'addresses', 'unclassified']),
)
export type TenantChange = Static<typeof TenantChange>
