import { type Static, Type } from 'typebox'
import { EXPORT_FORMATS, EXPORT_LIMITS, EXPORT_NAME, EXPORT_PERIODS, EXPORT_TIME } from './limits.ts'

const time = (description: string) => Type.String({ format: 'rfc3339', description })

/** Why an export is paused. */
export const PAUSED = Type.Object({
  at: time('ISO 8601, UTC'),
  by: Type.Enum(['person', 'limit']),
  reason: Type.String({ maxLength: 1_000, description: 'Empty when a person paused it' }),
})

/** An export as Redis keeps it. */
export const ExportRecord = Type.Object({
  name: Type.String({ pattern: EXPORT_NAME }),
  segment_id: Type.String({ maxLength: 64 }),
  every: Type.Enum([...EXPORT_PERIODS]),
  at: Type.String({ pattern: EXPORT_TIME, description: 'HH:MM, UTC' }),
  format: Type.Enum([...EXPORT_FORMATS]),
  keep: Type.Integer({ minimum: 1, maximum: EXPORT_LIMITS.keepMax, description: 'How many files are kept' }),
  created_at: time('ISO 8601, UTC'),
  active_since: time('Earlier times are not made up: its creation, or when it was last resumed or restored'),
  paused: Type.Optional(PAUSED),
})
export type ExportRecord = Static<typeof ExportRecord>
