import { type Static, Type } from 'typebox'
import { EXPORT_KEEP_MAX, EXPORT_KEEP_USUAL } from './dashboard/limits.ts'

export const EXPORT_FORMATS = ['csv', 'ndjson'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** How often an export is written; `week`: on Mondays. */
export const EXPORT_PERIODS = ['day', 'week'] as const
export type ExportPeriod = (typeof EXPORT_PERIODS)[number]

export const EXPORT_LIMITS = {
  /** Exports of a tenant. */
  exportsMax: 20,
  /** Default and maximum of `keep`. */
  keep: EXPORT_KEEP_USUAL,
  keepMax: EXPORT_KEEP_MAX,
} as const

/** The name of an export is a folder of its files. */
export const EXPORT_NAME = '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$'

/** A time of day, HH:MM. */
export const EXPORT_TIME = '^(?:[01]\\d|2[0-3]):[0-5]\\d$'

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
