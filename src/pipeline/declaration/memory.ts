/** Share of Redis' `maxmemory` that intake may fill; the workers need the rest to write what they finish. */
export const INTAKE_MEMORY_SHARE_MAX = 0.85
