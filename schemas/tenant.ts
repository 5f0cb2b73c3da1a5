import { type Static, Type } from 'typebox'
import { RETENTION_DAYS_MAX } from './limits.ts'
import { RULES_MAX, UNCLASSIFIED } from './tenant-rules.ts'

/** How the addresses of a tenant's events are stored (schemas/README.md, Addresses). */
export const Addresses = Type.Union([Type.Literal('full'), Type.Literal('truncated'), Type.Literal('dropped')])
export type Addresses = Static<typeof Addresses>

/** Name of the tenant that holds made-up visits, where there are some. */
export const SAMPLE_TENANT = 'sample-data'

/** A tenant as JSON in Redis, in a hash by tenant id. */
export const TenantRecord = Type.Object({
  plan: Type.String({ description: 'Name of a plan' }),
  archive: Type.Boolean({ description: 'Whether raw payloads are archived' }),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  retention_days: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0, maximum: RETENTION_DAYS_MAX }), Type.Null()], {
      description: 'Whole days to keep events; 0: for ever; null: the setting RETENTION_DAYS',
    }),
  ),
  deleting: Type.Optional(Type.Literal(true, { description: 'Its removal has begun, and its keys no longer work' })),
  addresses: Type.Optional(Addresses),
  unclassified: Type.Optional(
    Type.Enum([...UNCLASSIFIED], { description: 'How to treat events of organisations of unknown class' }),
  ),
  rules: Type.Optional(
    Type.Array(Type.String(), { maxItems: RULES_MAX, description: 'Kind and subject: `own 203.0.113.0/24`' }),
  ),
  api_url: Type.Optional(
    Type.String({ maxLength: 300, description: 'URL of the API as the senders of its events reach it' }),
  ),
  first_steps_closed: Type.Optional(Type.Boolean({ description: 'Whether a person closed its list of first steps' })),
  shows_sample: Type.Optional(Type.Boolean({ description: 'Whether its people may read the made-up visits' })),
  sample_until: Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      description: 'It holds made-up visits up to this UTC day: pages may read it, and change nothing',
    }),
  ),
  time_zone: Type.Optional(
    Type.String({ maxLength: 64, description: 'IANA name of the zone of its days; default: UTC' }),
  ),
  time_zone_since: Type.Optional(Type.String({ description: 'When the zone was changed; ISO 8601, UTC' })),
  address_key: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'Key of the pseudonyms; made when the tenant first masks addresses, and never changed',
    }),
  ),
})
export type TenantRecord = Static<typeof TenantRecord>

/** Changes of a tenant. Absent fields stay as they are. */
export const TenantChange = Type.Partial(
  Type.Pick(TenantRecord, [
    ...['plan', 'archive', 'retention_days', 'addresses', 'unclassified'],
    ...['api_url', 'first_steps_closed', 'shows_sample', 'sample_until', 'time_zone', 'time_zone_since'],
  ] as const),
)
export type TenantChange = Static<typeof TenantChange>
