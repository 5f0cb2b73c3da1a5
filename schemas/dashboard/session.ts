import { type Static, Type } from 'typebox'
import { EMAIL_CHARS_MAX } from './limits.ts'
import { DASHBOARD_ROLES, TENANT_ROLES } from './roles.ts'

export const TenantRole = Type.Enum([...TENANT_ROLES])
const DashboardRole = Type.Enum([...DASHBOARD_ROLES])

/** `GET /api/session`: facts about the user of the page. */
export const SessionAnswer = Type.Object({
  role: DashboardRole,
  name: Type.Union([Type.String(), Type.Null()]),
  /** Visible tenants, in the order of their creation. */
  tenants: Type.Array(Type.String()),
  /** Time zones of visible tenants by tenant, as IANA names; those in UTC are absent. */
  time_zones: Type.Record(Type.String(), Type.String()),
  /** The tenant that holds sample data, if the user may see it. It is not among `tenants`. */
  sample: Type.Union([Type.String(), Type.Null()]),
  /** Send this as `x-csrf-token` with every change. */
  csrf_token: Type.String(),
  version: Type.String(),
  /** URL of the API for sample commands; null when unknown. */
  api_url: Type.Union([Type.String(), Type.Null()]),
  /** Whether pages show the favicons of companies. */
  favicons: Type.Boolean(),
})
export type SessionAnswer = Static<typeof SessionAnswer>

/** `POST /sign-in/mail`: asks for a sign-in link by e-mail. The answer is the same for every address. */
export const MailSignInBody = Type.Object(
  { email: Type.String({ maxLength: EMAIL_CHARS_MAX }) },
  { additionalProperties: false },
)
export type MailSignInBody = Static<typeof MailSignInBody>

/** `GET /sign-in/ways`: how people sign in, besides by the link of an invitation. */
export const SignInWays = Type.Object({
  can_email: Type.Boolean({ description: 'Whether links are mailed' }),
  /** Name of the provider of OpenID Connect; null: none. */
  provider: Type.Union([Type.String(), Type.Null()]),
})
export type SignInWays = Static<typeof SignInWays>

/** `POST /sign-in/oidc`: the page of the provider to go to. */
export const OidcStart = Type.Object({ url: Type.String() })
export type OidcStart = Static<typeof OidcStart>
