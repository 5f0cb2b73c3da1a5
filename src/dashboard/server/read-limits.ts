import type { SlotLimits } from '../../run/tenant-slots.ts'

const TOO_MANY = 'too much is being asked for this tenant, or for all: try again in a few seconds'

/** Questions of pages to ClickHouse. A tenant that takes all it may leaves a third to the others. */
export const QUESTIONS: SlotLimits = {
  ...{ ofTenant: 4, all: 6, waitingOfTenant: 32, waitMaxMs: 8_000 },
  ...{ refusal: TOO_MANY, retrySeconds: 2 },
}

/** Exports under way: each holds a connection for as long as somebody reads it, however slowly. */
export const EXPORTS: SlotLimits = {
  ...{ ofTenant: 2, all: 4, waitingOfTenant: 0, waitMaxMs: 0 },
  ...{ refusal: 'other exports are under way: try again when they have ended', retrySeconds: 10 },
}

/** Dry runs of rules: each reads all events of a tenant since yesterday. */
export const TRIALS: SlotLimits = {
  ...{ ofTenant: 1, all: 2, waitingOfTenant: 0, waitMaxMs: 0 },
  ...{ refusal: 'another dry run is under way: try again in a few seconds', retrySeconds: 20 },
}

/** None of the above waits for another's connection. */
export const CONNECTIONS_MAX = QUESTIONS.all + EXPORTS.all + TRIALS.all

/**
 * What one statement may take. With the wait for a slot a question ends within about what a request may take, 30 s. One that waits
 * for the same question under way may take longer, and is answered 500 then.
 */
export const STATEMENT_LIMITS = { seconds: 20, exportSeconds: 300, rows: 20_000, threads: 2 } as const
