import { type Static, Type } from 'typebox'
import { LABEL_CHARS_MAX } from './dashboard/limits.ts'

export const SEGMENT_LIMITS = {
  nameMaxChars: LABEL_CHARS_MAX,
  whereMaxChars: 4_000,
  /** Segments of a tenant. */
  segmentsMax: 200,
} as const

/** A segment as Redis keeps it: a named filter over the companies of a tenant. */
export const SegmentRecord = Type.Object({
  name: Type.String({ minLength: 1, maxLength: SEGMENT_LIMITS.nameMaxChars }),
  where: Type.String({ maxLength: SEGMENT_LIMITS.whereMaxChars, description: 'Filter, as `--where` takes it' }),
  created_at: Type.String({ format: 'rfc3339', description: 'ISO 8601, UTC' }),
  where_since: Type.Optional(
    Type.String({ format: 'rfc3339', description: 'When the filter changed last, ISO 8601, UTC; absent: never' }),
  ),
})
export type SegmentRecord = Static<typeof SegmentRecord>
