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
  /** Its removal was begun and is not finished. */
  deleting: Type.Boolean(),
})
export type ListedTenant = Static<typeof ListedTenant>

/** `GET /api/tenants`: in the order of their creation, and the plans that there are. */
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

/** The only time that the link is told. */
export const MemberLinkAnswer = Type.Object({
  /** Relative where the dashboard does not know under which address people reach it. */
  url: Type.String(),
  expires_at: Type.String(),
})
export type MemberLinkAnswer = Static<typeof MemberLinkAnswer>

/** `POST /api/tenants/:tenant/sign-out`: what of its members was ended. */
export const SignedOutAnswer = Type.Object({ sessions: Type.Integer(), links: Type.Integer() })
export type SignedOutAnswer = Static<typeof SignedOutAnswer>
