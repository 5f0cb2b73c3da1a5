import { type Static, Type } from 'typebox'

/** An API key as JSON in Redis; its SHA-256 is the field of the hash. The raw key is stored nowhere; processes that it calls
 * have it in memory for a minute. */
export const ApiKeyRecord = Type.Object({
  prefix: Type.String({ description: 'First 12 characters of the raw key' }),
  tenant_id: Type.String(),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  revoked_at: Type.Optional(Type.String({ description: 'ISO 8601, UTC' })),
})
export type ApiKeyRecord = Static<typeof ApiKeyRecord>
