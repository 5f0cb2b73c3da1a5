import { type Static, Type } from 'typebox'

/** An API key as a page lists it. */
export const ListedKey = Type.Object({
  prefix: Type.String({ description: 'First 12 characters of the raw key, and bullets' }),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  /** The first use within about a second, later ones to the minute; null: never. */
  last_used: Type.Union([Type.String(), Type.Null()]),
  revoked_at: Type.Union([Type.String(), Type.Null()]),
})
export type ListedKey = Static<typeof ListedKey>

/** `GET /api/tenants/:tenant/keys`: in the order of their creation, revoked ones too. */
export const KeysAnswer = Type.Object({ keys: Type.Array(ListedKey) })
export type KeysAnswer = Static<typeof KeysAnswer>

/** `POST /api/tenants/:tenant/keys`: the only time that the key is told. */
export const CreatedKeyAnswer = Type.Object({ key: Type.String(), prefix: Type.String(), created_at: Type.String() })
export type CreatedKeyAnswer = Static<typeof CreatedKeyAnswer>

/** `POST /api/tenants/:tenant/keys/revoke` answers with the key as it is then. */
export const RevokeKeyBody = Type.Object(
  { prefix: Type.String({ maxLength: 100, description: 'With bullets or without' }) },
  { additionalProperties: false },
)
export type RevokeKeyBody = Static<typeof RevokeKeyBody>
