import { type Static, Type } from 'typebox'
import { ALERT_KINDS } from '../alert.ts'
import { MakerId } from '../maker.ts'
import { ListedKey } from './keys.ts'
import { EMAIL_CHARS_MAX, LINK_DAYS_MAX, NAME_CHARS_MAX } from './limits.ts'
import { TenantRole } from './session.ts'

const Id = Type.String({ pattern: '^[0-9a-f]{16}$' })
const Days = Type.Integer({ minimum: 1, maximum: LINK_DAYS_MAX, description: 'Validity of the link' })
const Text = Type.Union([Type.String(), Type.Null()])

/** A sign-in link that was not opened. */
export const OpenInvitation = Type.Object({ id: Type.String(), expires_at: Type.String() })
export type OpenInvitation = Static<typeof OpenInvitation>

/** A browser that is signed in. */
export const ListedSession = Type.Object({
  /** It reveals neither the cookie nor the key of the record. */
  id: Type.String(),
  /** For example "Chrome on macOS"; null: unknown. */
  device: Text,
  /** Null: an earlier version did not record it. */
  signed_in_at: Text,
  /** Up to a minute late. */
  last_used_at: Text,
  /** Whether it is the session of this call. */
  is_current: Type.Boolean(),
})
export type ListedSession = Static<typeof ListedSession>

/** A person, or a link or session without a name. */
export const ListedPerson = Type.Object({
  /** Null: not on the list of people. */
  id: Text,
  name: Text,
  /** Null: an operator. */
  role: Type.Union([TenantRole, Type.Null()]),
  email: Text,
  added_at: Text,
  /** Name or role of the user who invited them. */
  added_by: Text,
  invitations: Type.Array(OpenInvitation),
  /** The last used first. */
  sessions: Type.Array(ListedSession),
})
export type ListedPerson = Static<typeof ListedPerson>

/** `GET /api/tenants/:tenant/people` */
export const PeopleAnswer = Type.Object({
  /** Members by name, then those without one. */
  people: Type.Array(ListedPerson),
  /** Empty for members. */
  operators: Type.Array(ListedPerson),
  can_email: Type.Boolean({ description: 'Whether SMTP_URL is set, so that invitations are mailed' }),
})
export type PeopleAnswer = Static<typeof PeopleAnswer>

/** `POST /api/tenants/:tenant/people/invite`. A known e-mail address, or without one a known name, is the same person, who keeps their role. */
export const InviteBody = Type.Object(
  {
    name: Type.Optional(Type.String({ maxLength: NAME_CHARS_MAX })),
    email: Type.Optional(Type.String({ maxLength: EMAIL_CHARS_MAX })),
    role: Type.Optional(TenantRole),
    days: Days,
  },
  { additionalProperties: false },
)
export type InviteBody = Static<typeof InviteBody>

/** `POST /api/tenants/:tenant/people/link`: a new link for a person. Their earlier links end. */
export const PersonLinkBody = Type.Object({ person: Id, days: Days }, { additionalProperties: false })
export type PersonLinkBody = Static<typeof PersonLinkBody>

/** `POST /api/tenants/:tenant/people/role`: in force at once, in every session of the person. */
export const PersonRoleBody = Type.Object({ person: Id, role: TenantRole }, { additionalProperties: false })
export type PersonRoleBody = Static<typeof PersonRoleBody>

/** The link is shown only here. */
export const InviteAnswer = Type.Object({
  /** Relative when the dashboard does not know its public URL. */
  url: Type.String(),
  expires_at: Type.String(),
  /** Address that it was mailed to; null: it was not. */
  mailed_to: Text,
  /** Why it could not be mailed; null: it was, or needed not to be. */
  mail_problem: Text,
})
export type InviteAnswer = Static<typeof InviteAnswer>

/** `POST /api/tenants/:tenant/people/end`: ends one session, or withdraws one invitation. */
export const EndSignInBody = Type.Object({ id: Id }, { additionalProperties: false })
export type EndSignInBody = Static<typeof EndSignInBody>

/** `POST /api/tenants/:tenant/people/sign-out` and `/remove` */
export const PersonBody = Type.Object({ person: Id }, { additionalProperties: false })
export type PersonBody = Static<typeof PersonBody>

/** `GET /api/tenants/:tenant/people/made` */
export const MadeQuery = Type.Object({ maker: MakerId }, { additionalProperties: false })

/** Records of a maker that still work: they outlive the maker's removal. */
export const MadeAnswer = Type.Object({
  keys: Type.Array(ListedKey),
  sources: Type.Array(
    Type.Object({
      source_id: Type.String(),
      kind: Type.String(),
      name: Text,
      created_at: Type.String(),
      last_used: Text,
    }),
  ),
  alerts: Type.Array(
    Type.Object({
      alert_id: Type.String(),
      name: Type.String(),
      to: Type.Enum([...ALERT_KINDS]),
      target: Type.String(),
      created_at: Type.String(),
    }),
  ),
  people: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), added_at: Type.String() }), {
    description: 'People whom they invited, or who used a link that they made',
  }),
  shared_links: Type.Array(
    Type.Object({ id: Type.String(), name: Type.String(), created_at: Type.String(), last_used: Text }),
    { description: 'Of a session without a person: those of a person end with the removal' },
  ),
  /** Counts of those without a known maker: made on the command line, or by an earlier version. */
  unknown: Type.Object({
    keys: Type.Integer(),
    sources: Type.Integer(),
    alerts: Type.Integer(),
    links: Type.Integer({ description: 'Open links without a person' }),
  }),
})
export type MadeAnswer = Static<typeof MadeAnswer>

/** Number of sessions and invitations that ended. */
export const EndedAnswer = Type.Object({ ended: Type.Integer() })
export type EndedAnswer = Static<typeof EndedAnswer>
