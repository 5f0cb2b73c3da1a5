/* Limits and names that commands check. Without TypeBox, because loading it takes longer than most commands. */
import { EXPORT_KEEP_MAX, EXPORT_KEEP_USUAL } from './dashboard/limits.ts'

/** A hundred years. */
export const RETENTION_DAYS_MAX = 36_500

/** Limits of jobs that apply rules to stored events. */
export const REENRICHMENT_LIMITS = { rules: 50, daysMax: 3_650, ruleMaxChars: 1_000 } as const

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

/** Default of the setting ALERT_MESSAGES_PER_HOUR: messages that an alert sends in an hour. The rest is one digest. */
export const ALERT_MESSAGES_PER_HOUR = 100
