import { type Static, Type } from 'typebox'

/** Body of every answer of 400 and above. Only 422 has `errors`. */
export const ErrorBody = Type.Object({
  detail: Type.String(),
  errors: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), { maxItems: 20 })),
})
export type ErrorBody = Static<typeof ErrorBody>
