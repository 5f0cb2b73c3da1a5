import { type Static, Type } from 'typebox'
import { CompanyFilter } from '../companies.ts'

const SegmentId = Type.String({ minLength: 1, maxLength: 64 })
const Name = Type.String({ maxLength: 500 })

/** A named filter over the companies of a tenant. */
export const ListedSegment = Type.Object({
  segment_id: Type.String(),
  name: Type.String(),
  filter: CompanyFilter,
  /** The same as text, as `./ipid segment create --where` takes it. */
  where: Type.String(),
  created_at: Type.String(),
  /** Names of the alerts that need it. */
  alerts: Type.Array(Type.String()),
})
export type ListedSegment = Static<typeof ListedSegment>

/** `GET /api/tenants/:tenant/segments`, by name. */
export const SegmentsAnswer = Type.Object({ segments: Type.Array(ListedSegment) })
export type SegmentsAnswer = Static<typeof SegmentsAnswer>

/** `POST /api/tenants/:tenant/segments` answers with the segment. */
export const CreateSegmentBody = Type.Object({ name: Name, filter: CompanyFilter }, { additionalProperties: false })
export type CreateSegmentBody = Static<typeof CreateSegmentBody>

/** `POST /api/tenants/:tenant/segments/change` renames it, or replaces its filter, and answers with it. */
export const ChangeSegmentBody = Type.Object(
  { segment_id: SegmentId, name: Type.Optional(Name), filter: Type.Optional(CompanyFilter) },
  { additionalProperties: false },
)
export type ChangeSegmentBody = Static<typeof ChangeSegmentBody>

/** `POST /api/tenants/:tenant/segments/remove`, refused while an alert, an export or a CRM needs it. */
export const RemoveSegmentBody = Type.Object({ segment_id: SegmentId }, { additionalProperties: false })
export type RemoveSegmentBody = Static<typeof RemoveSegmentBody>
