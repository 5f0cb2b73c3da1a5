import { type Static, Type } from 'typebox'
import { LINK_DAYS_MAX } from './limits.ts'
import { PlanLimits } from './plan.ts'

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
  { name: Type.String({ maxLength: 200 }), plan: Type.String({ maxLength: 200 }) },
  { additionalProperties: false },
)
export type CreateTenantBody = Static<typeof CreateTenantBody>

/** `POST /api/tenants/:tenant/plan` answers with the tenant. */
export const ChangePlanBody = Type.Object({ plan: Type.String({ maxLength: 200 }) }, { additionalProperties: false })
export type ChangePlanBody = Static<typeof ChangePlanBody>

/** `POST /api/tenants/:tenant/link` */
export const MemberLinkBody = Type.Object(
  { days: Type.Integer({ minimum: 1, maximum: LINK_DAYS_MAX }) },
  { additionalProperties: false },
)
export type MemberLinkBody = Static<typeof MemberLinkBody>

/** The link is shown only here. */
export const MemberLinkAnswer = Type.Object({
  /** Relative when the dashboard does not know its public URL. */
  url: Type.String(),
  expires_at: Type.String(),
})
export type MemberLinkAnswer = Static<typeof MemberLinkAnswer>

/** `POST /api/tenants/:tenant/sign-out`: number of sessions and links that it ended. */
export const SignedOutAnswer = Type.Object({ sessions: Type.Integer(), links: Type.Integer() })
export type SignedOutAnswer = Static<typeof SignedOutAnswer>
