import { type Static, Type } from 'typebox'

/** A person of the tenant, or a session without one, by the ids of the list of people. */
export const MakerId = Type.String({ pattern: '^(person|session|operator):[0-9a-f]{16}$' })

/** The maker of a record in the dashboard. */
export const Maker = Type.Object({
  id: MakerId,
  name: Type.String({ maxLength: 320, description: 'At that time; the role of a user without a name' }),
})
export type Maker = Static<typeof Maker>
