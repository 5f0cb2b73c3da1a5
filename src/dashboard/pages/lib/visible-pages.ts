import { isAtLeast } from '../../../../schemas/dashboard/roles.ts'
import { PAGES, type PageEntry } from '../pages.tsx'
import { useSession } from './session.ts'

/** The pages that the user may open, of a tenant if there is one. Sample data are read-only. */
export function useVisiblePages(tenant: string | undefined): readonly PageEntry[] {
  const { role, sample } = useSession()
  const own = tenant !== undefined && tenant === sample ? 'viewer' : role
  return PAGES.filter(({ path, role: needed = 'viewer' }) => {
    const isOfTenant = path.includes(':tenant')
    return isAtLeast(isOfTenant ? own : role, needed) && (tenant !== undefined || !isOfTenant)
  })
}
