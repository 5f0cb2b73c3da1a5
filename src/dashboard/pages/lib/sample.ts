import { useLocation } from 'wouter-preact'
import type { SampleAnswer } from '../../../../schemas/dashboard/first-steps.ts'
import { post } from './api.ts'
import { useSession } from './session.ts'

/** In the storage of the tab: the workspace that was open before the sample data. */
const KEY = 'ipid:workspace'

export function rememberWorkspace(tenant: string): void {
  try {
    sessionStorage.setItem(KEY, tenant)
  } catch {
    // Without storage, the sample data lead back to the first workspace.
  }
}

function rememberedWorkspace(): string | null {
  try {
    return sessionStorage.getItem(KEY)
  } catch {
    return null
  }
}

/** Sample data: whether this page shows them, and the switch between them and the workspace of the user. */
export function useSample() {
  const { tenants, sample, reload } = useSession()
  const [location, navigate] = useLocation()
  const isOn = sample !== null && location.startsWith(`/t/${sample}/`)
  const remembered = rememberedWorkspace()
  const own = tenants.find((tenant) => tenant === remembered) ?? tenants[0]
  const show = (tenant: string) => navigate(samePage(location, tenant))
  return {
    isOn,
    /** Whether the people of the workspace may see them. */
    isThere: sample !== null,
    /** The workspace of the user; undefined: there is none. */
    own,
    toggle() {
      if (isOn && own !== undefined) show(own)
      else if (!isOn && sample !== null) show(sample)
    },
    /** Makes them, and shows them. */
    async add(tenant: string) {
      const { tenant: held } = await post<SampleAnswer>(`/api/tenants/${tenant}/sample`, { is_shown: true })
      reload()
      navigate(`/t/${held}/home`)
    },
    /** Takes them away from the workspace. */
    async remove() {
      if (own === undefined) return
      await post<SampleAnswer>(`/api/tenants/${own}/sample`, { is_shown: false })
      navigate(`/t/${own}/home`)
      reload()
    },
  }
}

/** The same page of another workspace. A company of one is not in the other. */
export function samePage(location: string, tenant: string): string {
  if (!location.startsWith('/t/')) return `/t/${tenant}/home`
  return location.replace(/^\/t\/[^/]+/, `/t/${tenant}`).replace(/\/companies\/of$/, '/companies')
}
