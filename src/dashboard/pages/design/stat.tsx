import './stat.css'
import { ArrowDown, ArrowUp } from 'lucide-preact'
import { type ComponentChildren, toChildArray } from 'preact'
import { Link } from 'wouter-preact'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

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
  readonly change?: ComponentChildren
  /** The meaning of the number, or the comparison. */
  readonly children?: ComponentChildren
}

/** A number that a person reads from across the room, and its meaning. */
export function Stat({ label, value, unit, href, change, children }: StatProps) {
  return (
    <div class="ui-stat">
      <span class="ui-stat-label">{label}</span>
      <span class="ui-stat-value">
        {href === undefined ? value : <Link href={href}>{value}</Link>}
        {unit !== undefined && <span class="ui-stat-unit">{unit}</span>}
      </span>
      {(change || children) && (
        <span class="ui-stat-note">
          {change} {children}
        </span>
      )}
    </div>
  )
}

interface ChangeProps {
  readonly now: number
  readonly before: number
  /** Whether more is better; undefined: neither. */
  readonly isMoreGood?: boolean
  /** The change in words. */
  readonly children: ComponentChildren
}

/** How a number changed: an arrow, and words in its colour. */
export function Change({ now, before, isMoreGood, children }: ChangeProps) {
  if (now === before) return <span class="ui-change">{children}</span>
  const isMore = now > before
  const tone = isMoreGood === undefined ? undefined : isMore === isMoreGood ? 'is-good' : 'is-bad'
  return (
    <span class={classes('ui-change', tone)}>
      <Icon of={isMore ? ArrowUp : ArrowDown} size={14} />
      {children}
    </span>
  )
}
