import { type Static, Type } from 'typebox'

/** An operator sees every tenant, a member one. */
export const DashboardRole = Type.Union([Type.Literal('operator'), Type.Literal('member')])
export type DashboardRole = Static<typeof DashboardRole>

/** `GET /api/session`: facts about the user of the page. */
export const SessionAnswer = Type.Object({
  role: DashboardRole,
  name: Type.Union([Type.String(), Type.Null()]),
  /** Visible tenants, in the order of their creation. */
  tenants: Type.Array(Type.String()),
  /** Send this as `x-csrf-token` with every change. */
  csrf_token: Type.String(),
  version: Type.String(),
  /** URL of the API for sample commands; null when unknown. */
  api_url: Type.Union([Type.String(), Type.Null()]),
  /** Whether pages show the favicons of companies. */
  favicons: Type.Boolean(),
})
export type SessionAnswer = Static<typeof SessionAnswer>
