import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type DashboardRole, isAtLeast } from '../../../../schemas/dashboard/roles.ts'

/** What the user may do on this page. Sample data are read-only. */
export const RoleContext = createContext<DashboardRole>('viewer')

/** Whether the user has at least this role on this page. The server checks every call again. */
export function useMay(needed: DashboardRole): boolean {
  return isAtLeast(useContext(RoleContext), needed)
}
