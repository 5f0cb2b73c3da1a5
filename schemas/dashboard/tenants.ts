import { type Static, Type } from 'typebox'
import { PlanLimits } from './plan.ts'

const TimeZone = Type.String({ maxLength: 64, description: 'IANA name, such as Europe/Berlin' })

/** A tenant as operators see it. */
export const ListedTenant = Type.Object({
  id: Type.String(),
  plan: Type.String(),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  archive: Type.Boolean(),
  addresses: Type.String(),
  /** Its removal has begun but is not finished. */
  deleting: Type.Boolean(),
})
export type ListedTenant = Static<typeof ListedTenant>

/** `GET /api/tenants`: tenants in the order of their creation, and all plans. */
export const TenantsAnswer = Type.Object({
  tenants: Type.Array(ListedTenant),
  plans: Type.Array(Type.Object({ name: Type.String(), limits: PlanLimits })),
})
export type TenantsAnswer = Static<typeof TenantsAnswer>

/** `POST /api/tenants` answers with the tenant. */
export const CreateTenantBody = Type.Object(
  { name: Type.String({ maxLength: 200 }), plan: Type.String({ maxLength: 200 }), time_zone: Type.Optional(TimeZone) },
  { additionalProperties: false },
)
export type CreateTenantBody = Static<typeof CreateTenantBody>

/** `POST /api/tenants/:tenant/plan` answers with the tenant. */
export const ChangePlanBody = Type.Object({ plan: Type.String({ maxLength: 200 }) }, { additionalProperties: false })
export type ChangePlanBody = Static<typeof ChangePlanBody>

/** `POST /api/tenants/:tenant/time-zone`: the zone of its days. */
export const TimeZoneBody = Type.Object({ time_zone: TimeZone }, { additionalProperties: false })
export type TimeZoneBody = Static<typeof TimeZoneBody>

/** `POST /api/tenants/:tenant/sign-out`: number of sessions and links that it ended. */
export const SignedOutAnswer = Type.Object({ sessions: Type.Integer(), links: Type.Integer() })
export type SignedOutAnswer = Static<typeof SignedOutAnswer>
