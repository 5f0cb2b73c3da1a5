import { type Static, Type } from 'typebox'

/** An API key as a page lists it. */
export const ListedKey = Type.Object({
  prefix: Type.String({ description: 'First 12 characters of the raw key, and bullets' }),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  /** The latest use, at most about a second late; null: never. */
  last_used: Type.Union([Type.String(), Type.Null()]),
  revoked_at: Type.Union([Type.String(), Type.Null()]),
})
export type ListedKey = Static<typeof ListedKey>

/** Keys of a page: as many when no number is given, and at most. */
export const KEYS_PAGE = { keys: 100, keysMax: 500 } as const

/** `GET /api/tenants/:tenant/keys` */
export const KeysQuery = Type.Object(
  {
    before: Type.Optional(Type.Integer({ minimum: 0, description: 'next of the page before' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: KEYS_PAGE.keysMax })),
  },
  { additionalProperties: false },
)

/** Keys of a tenant, the newest first, revoked ones too. */
export const KeysAnswer = Type.Object({
  keys: Type.Array(ListedKey),
  total: Type.Integer({ description: 'Keys of the tenant; there is no limit' }),
  next: Type.Union([Type.Integer(), Type.Null()], { description: 'What before is for the next page; null: no more' }),
})
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
