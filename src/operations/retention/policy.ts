const DAY_MS = 86_400_000

/** How long events are kept, by tenant. */
export interface RetentionPolicy {
  /** UTC days that tenants without a number of their own keep; undefined: for ever. */
  readonly defaultDays: number | undefined
  /** Tenants with a number of their own; 0: for ever. */
  readonly ofTenants: ReadonlyMap<string, number>
}

/**
 * The first UTC day of receipt that a tenant keeps, for example `2026-11-22`; undefined when it keeps all. Events of
 * earlier days are removed, so replays skip those days.
 */
export function retentionFloor(policy: RetentionPolicy, tenantId: string, nowMs: number): string | undefined {
  return floorOf(policy.ofTenants.get(tenantId) ?? policy.defaultDays, nowMs)
}

/** The first day that any tenant keeps, including future tenants; undefined when one keeps all days. */
export function commonFloor({ defaultDays, ofTenants }: RetentionPolicy, nowMs: number): string | undefined {
  const floors = [defaultDays, ...ofTenants.values()].map((days) => floorOf(days, nowMs))
  if (floors.includes(undefined)) return undefined
  return floors.sort()[0]
}

/** Whether retention removes anything. */
export function removesAnything({ defaultDays, ofTenants }: RetentionPolicy): boolean {
  return defaultDays !== undefined || [...ofTenants.values()].some((days) => days > 0)
}

function floorOf(days: number | undefined, nowMs: number): string | undefined {
  return days === undefined || days === 0 ? undefined : new Date(nowMs - days * DAY_MS).toISOString().slice(0, 10)
}
