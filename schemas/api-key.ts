import { type Static, Type } from 'typebox'

/**
 * An API key as JSON in Redis, in a hash by the SHA-256 of the key. The raw key is never stored; processes cache it in memory for a
 * minute.
 */
export const ApiKeyRecord = Type.Object({
  prefix: Type.String({ description: 'First 12 characters of the raw key' }),
  tenant_id: Type.String(),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  revoked_at: Type.Optional(Type.String({ description: 'ISO 8601, UTC' })),
})
export type ApiKeyRecord = Static<typeof ApiKeyRecord>
