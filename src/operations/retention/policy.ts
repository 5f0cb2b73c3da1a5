const DAY_MS = 86_400_000

/** How long events are kept, by tenant. */
export interface RetentionPolicy {
  /** Whole UTC days of tenants that have no number of their own; undefined: for ever. */
  readonly defaultDays: number | undefined
  /** Tenants with a number of their own; 0: for ever. */
  readonly ofTenants: ReadonlyMap<string, number>
}

/**
 * The first UTC day of receipt that is kept of a tenant, `2026-11-22`; undefined when all are. Events of days before it are
 * removed, so whoever brings events again leaves those days out.
 */
export function retentionFloor(policy: RetentionPolicy, tenantId: string, nowMs: number): string | undefined {
  return floorOf(policy.ofTenants.get(tenantId) ?? policy.defaultDays, nowMs)
}

/** The first day that is kept of anybody, also of tenants to come; undefined when somebody's days are all kept. */
export function commonFloor({ defaultDays, ofTenants }: RetentionPolicy, nowMs: number): string | undefined {
  const floors = [defaultDays, ...ofTenants.values()].map((days) => floorOf(days, nowMs))
  if (floors.includes(undefined)) return undefined
  return floors.sort()[0]
}

/** Whether anything is ever removed. */
export function removesAnything({ defaultDays, ofTenants }: RetentionPolicy): boolean {
  return defaultDays !== undefined || [...ofTenants.values()].some((days) => days > 0)
}

function floorOf(days: number | undefined, nowMs: number): string | undefined {
  return days === undefined || days === 0 ? undefined : new Date(nowMs - days * DAY_MS).toISOString().slice(0, 10)
}
