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

/** The logo of a company, and its initials until it has loaded. There is none when it has no logo, in sample data, and with DASHBOARD_FAVICONS=off. */
export function CompanyAvatar({ tenant, company: { company_id, name, domain }, size }: CompanyAvatarProps) {
  const { favicons, sample } = useSession()
  const icon = useIcon(favicons && tenant !== sample && domain !== '' ? companyIconPath(tenant, company_id) : undefined)
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

/** URLs that have loaded, so that the next page shows them at once. */
const loaded = new Set<string>()

/** The URL of an image once it has loaded; undefined before that, and when there is none. */
function useIcon(url: string | undefined): string | undefined {
  const [, redraw] = useState<string>()
  useEffect(() => {
    if (url === undefined || loaded.has(url)) return
    return icons.add(url, () => {
      loaded.add(url)
      redraw(url)
    })
  }, [url])
  return url !== undefined && loaded.has(url) ? url : undefined
}
