/* Without TypeBox, because the pages import this file. */

/** What a person of a tenant may do, from the least: read; change companies, segments, alerts, …; manage people, keys and sources. */
export const TENANT_ROLES = ['viewer', 'member', 'admin'] as const
export type TenantRole = (typeof TENANT_ROLES)[number]

/** An operator may do everything in every tenant. */
export const DASHBOARD_ROLES = [...TENANT_ROLES, 'operator'] as const
export type DashboardRole = (typeof DASHBOARD_ROLES)[number]

/** Whether a role may do all that another one may. */
export function isAtLeast(role: DashboardRole, needed: DashboardRole): boolean {
  return DASHBOARD_ROLES.indexOf(role) >= DASHBOARD_ROLES.indexOf(needed)
}
