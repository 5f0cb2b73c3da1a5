import { type Static, Type } from 'typebox'

/** An API key as a page lists it. */
export const ListedKey = Type.Object({
  prefix: Type.String({ description: 'First 12 characters of the raw key, of a test key 17, then bullets' }),
  test: Type.Boolean({ description: 'Whether nothing that comes with it is stored' }),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  made_by: Type.Union([Type.String(), Type.Null()], {
    description: 'Name or role of its maker; null: the command line, or an earlier version',
  }),
  /** Time of the last use, about a second late at most; null: never. */
  last_used: Type.Union([Type.String(), Type.Null()]),
  revoked_at: Type.Union([Type.String(), Type.Null()]),
})
export type ListedKey = Static<typeof ListedKey>

/** Keys of a page: default and limit. */
export const KEYS_PAGE = { keys: 100, keysMax: 500 } as const

/** `GET /api/tenants/:tenant/keys` */
export const KeysQuery = Type.Object(
  {
    before: Type.Optional(Type.Integer({ minimum: 0, description: 'next of the previous page' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: KEYS_PAGE.keysMax })),
  },
  { additionalProperties: false },
)

/** Keys of a tenant, newest first, including revoked ones. */
export const KeysAnswer = Type.Object({
  keys: Type.Array(ListedKey),
  total: Type.Integer({ description: 'Number of keys of the tenant' }),
  next: Type.Union([Type.Integer(), Type.Null()], { description: 'Value of before for the next page; null: no more' }),
})
export type KeysAnswer = Static<typeof KeysAnswer>

/** `POST /api/tenants/:tenant/keys` */
export const CreateKeyBody = Type.Object(
  { test: Type.Optional(Type.Boolean({ description: 'Makes a test key. Default: false' })) },
  { additionalProperties: false },
)
export type CreateKeyBody = Static<typeof CreateKeyBody>

/** The key is shown only here. */
export const CreatedKeyAnswer = Type.Object({
  key: Type.String(),
  prefix: Type.String(),
  test: Type.Boolean(),
  created_at: Type.String(),
})
export type CreatedKeyAnswer = Static<typeof CreatedKeyAnswer>

/** `POST /api/tenants/:tenant/keys/revoke` answers with the revoked key. */
export const RevokeKeyBody = Type.Object(
  { prefix: Type.String({ maxLength: 100, description: 'With bullets or without' }) },
  { additionalProperties: false },
)
export type RevokeKeyBody = Static<typeof RevokeKeyBody>
