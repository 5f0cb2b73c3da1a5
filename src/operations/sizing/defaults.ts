/** Assumptions of `ipid plan` that its flags change. */
export const DEFAULTS = { noise: 30, eventsPerRequest: 1, retentionDays: 365, outageHours: 4 } as const

/** A month has this many days. */
export const DAYS_OF_MONTH = 30
