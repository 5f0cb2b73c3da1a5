import { type Static, Type } from 'typebox'

/** A hundred years. */
export const RETENTION_DAYS_MAX = 36_500

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
})
export type TenantRecord = Static<typeof TenantRecord>

/** What can be changed of a tenant; the rest stays. */
export const TenantChange = Type.Partial(Type.Pick(TenantRecord, ['plan', 'archive', 'retention_days']))
export type TenantChange = Static<typeof TenantChange>
