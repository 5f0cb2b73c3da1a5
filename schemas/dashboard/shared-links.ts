import { type Static, Type } from 'typebox'
import { COMPANY_LIMITS, CompanyFilter, ORDER_PROPERTIES } from '../companies.ts'
import { SHARED_COLUMNS, SHARED_DAYS } from './shared-columns.ts'

const Id = Type.String({ pattern: '^[0-9a-f]{16}$' })
const Text = Type.Union([Type.String(), Type.Null()])
const Columns = Type.Array(Type.Enum([...SHARED_COLUMNS]), { maxItems: SHARED_COLUMNS.length, uniqueItems: true })

/** A link that shows a list or a company to people without an account. */
export const ListedSharedLink = Type.Object({
  /** It reveals neither the secret of the link nor its digest. */
  id: Type.String(),
  /** The title that receivers see. */
  name: Type.String(),
  kind: Type.Enum(['segment', 'list', 'company']),
  /** Name of the segment, filter as text, or id of the company. Null: the segment is gone, so the link does not work. */
  of: Text,
  columns: Columns,
  made_by: Type.String(),
  created_at: Type.String(),
  /** Null: it works until it is revoked. */
  expires_at: Text,
  /** Null: never opened. */
  last_used: Text,
})
export type ListedSharedLink = Static<typeof ListedSharedLink>

/** `GET /api/tenants/:tenant/shared-links`: newest first. */
export const SharedLinksAnswer = Type.Object({ links: Type.Array(ListedSharedLink) })
export type SharedLinksAnswer = Static<typeof SharedLinksAnswer>

/** `POST /api/tenants/:tenant/shared-links`: a link to exactly one of a segment, a filter and a company. */
export const CreateSharedLinkBody = Type.Object(
  {
    name: Type.String({ maxLength: 500 }),
    segment_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    filter: Type.Optional(CompanyFilter),
    company_id: Type.Optional(Type.String({ minLength: 1, maxLength: COMPANY_LIMITS.valueMaxChars })),
    columns: Columns,
    ...ORDER_PROPERTIES,
    days: Type.Union([Type.Enum([...SHARED_DAYS]), Type.Null()], {
      description: 'Null, of operators only: until it is revoked',
    }),
  },
  { additionalProperties: false },
)
export type CreateSharedLinkBody = Static<typeof CreateSharedLinkBody>

/** The URL is shown only here. */
export const CreatedSharedLink = Type.Object({
  /** Relative when the dashboard does not know its public URL. */
  url: Type.String(),
  link: ListedSharedLink,
})
export type CreatedSharedLink = Static<typeof CreatedSharedLink>

/** `POST /api/tenants/:tenant/shared-links/revoke` */
export const RevokeSharedLinkBody = Type.Object({ id: Id }, { additionalProperties: false })
