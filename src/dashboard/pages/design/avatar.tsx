import './avatar.css'
import { classes } from './classes.ts'
import { hueOf, initialsOf } from './initials.ts'

interface AvatarProps {
  readonly name: string
  /** Decides the colour, so that a company that is renamed keeps it. */
  readonly id: string
  /** Pixels; default 24. */
  readonly size?: number
  /** URL of a small image that has loaded; shown in place of the initials. */
  readonly icon?: string | undefined
}

/** Initials in a steady colour, or an icon. The name must be beside it: screen readers skip the avatar. */
export function Avatar({ name, id, size = 24, icon }: AvatarProps) {
  return (
    <span
      class={classes('ui-avatar', icon !== undefined && 'is-icon')}
      style={{ '--size': `${size}px`, '--hue': String(hueOf(id)) }}
      aria-hidden="true"
    >
      {icon === undefined ? initialsOf(name) : <img src={icon} alt="" decoding="sync" />}
    </span>
  )
}
