import './icon.css'
import type { LucideIcon } from 'lucide-preact'

interface IconProps {
  /** An icon of `lucide-preact`, imported by its name, so that the build has only what is used. */
  readonly of: LucideIcon
  /** Pixels; default 16. */
  readonly size?: number
}

/** An icon beside words. It is hidden from screen readers, so the words must say everything. */
export function Icon({ of: Drawing, size = 16 }: IconProps) {
  return <Drawing size={size} strokeWidth={1.75} class="ui-icon" aria-hidden="true" />
}
