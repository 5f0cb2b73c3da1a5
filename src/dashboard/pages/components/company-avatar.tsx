import { useEffect, useState } from 'preact/hooks'
import { Avatar } from '../design/avatar.tsx'
import { companyIconPath } from '../lib/company-links.ts'
import { InTurn } from '../lib/in-turn.ts'
import { useSession } from '../lib/session.ts'

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

const AT_ONCE = 2

const icons = new InTurn(
  (url) =>
    new Promise((resolve) => {
      const image = new Image()
      image.onload = () => resolve(true)
      image.onerror = () => resolve(false)
      image.src = url
    }),
  AT_ONCE,
)

/** The URL of an image once it has loaded; undefined before that, and when there is none. */
function useIcon(url: string | undefined): string | undefined {
  const [loaded, setLoaded] = useState<string>()
  useEffect(() => (url === undefined ? undefined : icons.add(url, () => setLoaded(url))), [url])
  return loaded === url ? loaded : undefined
}
