import type { SlotLimits } from '../../run/tenant-slots.ts'

const TOO_MANY = 'too many queries are running for this tenant, or for all: try again in a few seconds'

/**
 * Queries of pages. A busy tenant leaves a third of the slots to others. A query waits longer than another one may run, because a person may
 * open several pages at once.
 */
export const QUESTIONS: SlotLimits = {
  ...{ ofTenant: 4, all: 6, waitingOfTenant: 32, waitMaxMs: 25_000 },
  ...{ refusal: TOO_MANY, retrySeconds: 2 },
}

/** Queries of programs, in each ingress. */
export const API_QUESTIONS: SlotLimits = {
  ...{ ofTenant: 2, all: 4, waitingOfTenant: 8, waitMaxMs: 5_000 },
  ...{ refusal: TOO_MANY, retrySeconds: 2 },
}

/** Exports. Each holds a connection as long as its reader takes. */
export const EXPORTS: SlotLimits = {
  ...{ ofTenant: 2, all: 4, waitingOfTenant: 0, waitMaxMs: 0 },
  ...{ refusal: 'other exports are running: try again when they have ended', retrySeconds: 10 },
}

/** Dry runs of rules: each reads all events of a tenant since yesterday. */
export const TRIALS: SlotLimits = {
  ...{ ofTenant: 1, all: 2, waitingOfTenant: 0, waitMaxMs: 0 },
  ...{ refusal: 'another dry run is running: try again in a few seconds', retrySeconds: 20 },
}

/** Dry runs of alerts: each asks many questions, one after the other, in slots of `QUESTIONS`. */
export const ALERT_TRIALS: SlotLimits = {
  ...{ ofTenant: 1, all: 2, waitingOfTenant: 3, waitMaxMs: 22_000 },
  ...{ refusal: 'other dry runs are running: try again in a few seconds', retrySeconds: 5 },
}

/** Imports of lists of companies, and their previews. Each holds its list in memory. */
export const IMPORTS: SlotLimits = {
  ...{ ofTenant: 1, all: 2, waitingOfTenant: 4, waitMaxMs: 20_000 },
  ...{ refusal: 'other lists of companies are being read: try again in a few seconds', retrySeconds: 5 },
}

/** One connection for each slot. */
export const CONNECTIONS_MAX = QUESTIONS.all + EXPORTS.all + TRIALS.all

/** Limits of a statement. */
export const STATEMENT_LIMITS = { seconds: 20, exportSeconds: 300, rows: 20_000, threads: 2 } as const

/**
 * Limit of a request to the dashboard: a query waits for its slot and ends within it. A request that asks several, one after the other, or
 * waits for the same query of another request, may take longer, and then gets 500.
 */
export const READ_WORK_MS = 60_000
