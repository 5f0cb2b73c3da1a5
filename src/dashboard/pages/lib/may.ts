import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { DASHBOARD_ROLES, type DashboardRole } from '../../../../schemas/dashboard/roles.ts'

/** What the user may do on this page: of sample data, everybody only reads. */
export const RoleContext = createContext<DashboardRole>('viewer')

/** Whether the user has at least this role on this page. The server checks every call again. */
export function useMay(needed: DashboardRole): boolean {
  return may(useContext(RoleContext), needed)
}

export function may(role: DashboardRole, needed: DashboardRole): boolean {
  return DASHBOARD_ROLES.indexOf(role) >= DASHBOARD_ROLES.indexOf(needed)
}
