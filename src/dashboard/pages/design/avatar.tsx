import './avatar.css'
import { hueOf, initialsOf } from './initials.ts'

interface AvatarProps {
  readonly name: string
  /** Decides the colour, so that a company that is renamed keeps it. */
  readonly id: string
  /** Pixels; default 24. */
  readonly size?: number
}

/** Initials in a steady colour. The name must be beside it: screen readers skip the avatar. */
export function Avatar({ name, id, size = 24 }: AvatarProps) {
  return (
    <span class="ui-avatar" style={{ '--size': `${size}px`, '--hue': String(hueOf(id)) }} aria-hidden="true">
      {initialsOf(name)}
    </span>
  )
}
