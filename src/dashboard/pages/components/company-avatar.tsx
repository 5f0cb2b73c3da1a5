import { Avatar } from '../design/avatar.tsx'
import { companyIconPath } from '../lib/company-links.ts'
import { useSession } from '../lib/session.ts'
import { useIcon } from '../lib/use-icon.ts'

interface CompanyAvatarProps {
  readonly tenant: string
  readonly company: { readonly company_id: string; readonly name: string; readonly domain: string }
  /** Pixels. */
  readonly size: number
}

/** The favicon of a company, if DASHBOARD_FAVICONS is on and it has one, and its initials otherwise. */
export function CompanyAvatar({ tenant, company: { company_id, name, domain }, size }: CompanyAvatarProps) {
  const { favicons } = useSession()
  const icon = useIcon(favicons && domain !== '' ? companyIconPath(tenant, company_id) : undefined)
  return <Avatar name={name} id={company_id} size={size} icon={icon} />
}
