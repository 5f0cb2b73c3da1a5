import type { LucideIcon } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { Icon } from '../design/icon.tsx'
import './nav.css'

interface NavGroupProps {
  /** Undefined: the links need no heading. */
  readonly title?: string
  /** `NavLink`s. */
  readonly children: ComponentChildren
}

/** Links of the sidebar that belong together. */
export function NavGroup({ title, children }: NavGroupProps) {
  const id = useId()
  return (
    <div>
      {title !== undefined && (
        <h2 id={id} class="ui-nav-title">
          {title}
        </h2>
      )}
      <ul class="ui-nav-links" aria-labelledby={title === undefined ? undefined : id}>
        {children}
      </ul>
    </div>
  )
}

interface NavLinkProps {
  readonly href: string
  readonly icon: LucideIcon
  readonly label: string
  readonly isCurrent: boolean
  /** `NavLink`s below it. */
  readonly children?: ComponentChildren
}

/** A link of the sidebar. */
export function NavLink({ href, icon, label, isCurrent, children }: NavLinkProps) {
  return (
    <li>
      <Link href={href} class="ui-nav-link" aria-current={isCurrent ? 'page' : undefined}>
        <Icon of={icon} />
        <span>{label}</span>
      </Link>
      {children}
    </li>
  )
}

interface NavSubLinksProps {
  readonly label: string
  /** `NavLink`s. */
  readonly children: ComponentChildren
}

/** Links below a link of the sidebar. */
export function NavSubLinks({ label, children }: NavSubLinksProps) {
  return (
    <ul class="ui-nav-links is-below" aria-label={label}>
      {children}
    </ul>
  )
}
