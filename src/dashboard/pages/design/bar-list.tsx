import './bar-list.css'
import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'

/** A bar: a name and its number. */
export interface Bar {
  readonly key: string
  readonly name: ComponentChildren
  readonly href?: string
  /** State of the link, for the page that it opens. */
  readonly state?: unknown
  /** Before the name: a flag or an avatar. */
  readonly mark?: ComponentChildren
  readonly value: number
  /** The number in words. */
  readonly text: ComponentChildren
}

interface BarListProps {
  readonly bars: readonly Bar[]
  /** The value of a full bar; default: the largest value. */
  readonly whole?: number
}

/** A ranking: names over bars, with numbers at the right. */
export function BarList({ bars, whole }: BarListProps) {
  const full = Math.max(1, whole ?? Math.max(...bars.map(({ value }) => value)))
  return (
    <ol class="ui-bars">
      {bars.map(({ key, name, href, state, mark, value, text }) => (
        <li key={key} class="ui-bar" style={{ '--share': `${Math.min(100, (100 * value) / full)}%` }}>
          <span class="ui-bar-name">
            {mark}
            {href === undefined ? (
              <span class="ui-text is-cut">{name}</span>
            ) : (
              <Link href={href} state={state}>
                {name}
              </Link>
            )}
          </span>
          <span class="ui-bar-value">{text}</span>
        </li>
      ))}
    </ol>
  )
}
