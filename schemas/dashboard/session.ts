import { type Static, Type } from 'typebox'

/** Who looks: an operator sees every tenant, a member one. */
export const DashboardRole = Type.Union([Type.Literal('operator'), Type.Literal('member')])
export type DashboardRole = Static<typeof DashboardRole>

/** `GET /api/session`: what a page has to know of who looks at it. */
export const SessionAnswer = Type.Object({
  role: DashboardRole,
  /** Tenants that may be seen, in the order of their creation. */
  tenants: Type.Array(Type.String()),
  /** To be sent as `x-csrf-token` with every change. */
  csrf_token: Type.String(),
  version: Type.String(),
  /** Where the API listens, for lines to paste; null when this process does not know. */
  api_url: Type.Union([Type.String(), Type.Null()]),
})
export type SessionAnswer = Static<typeof SessionAnswer>
