import './stat.css'
import { type ComponentChildren, toChildArray } from 'preact'
import { Link } from 'wouter-preact'

/** Numbers beside each other: up to four, or six where there is room. Lines have the same length. */
export function Stats({ children }: { readonly children: ComponentChildren }) {
  const count = Math.max(2, toChildArray(children).length)
  const all = count <= 6 ? count : Math.ceil(count / 2)
  return (
    <div class="ui-stats">
      <div style={{ '--all': String(all), '--half': String(all <= 4 ? all : Math.ceil(all / 2)) }}>{children}</div>
    </div>
  )
}

interface StatProps {
  readonly label: ComponentChildren
  /** Formatted. */
  readonly value: ComponentChildren
  /** A unit or a limit, smaller, after the value. */
  readonly unit?: ComponentChildren
  /** A page that shows what the number counts. */
  readonly href?: string
  /** The meaning of the number. */
  readonly children?: ComponentChildren
}

/** A number that a person reads from across the room, and its meaning. */
export function Stat({ label, value, unit, href, children }: StatProps) {
  return (
    <div class="ui-stat">
      <span class="ui-stat-label">{label}</span>
      <span class="ui-stat-value">
        {href === undefined ? value : <Link href={href}>{value}</Link>}
        {unit !== undefined && <span class="ui-stat-unit">{unit}</span>}
      </span>
      {children && <span class="ui-stat-note">{children}</span>}
    </div>
  )
}
