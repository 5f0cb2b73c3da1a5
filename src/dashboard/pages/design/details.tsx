import './details.css'
import { ChevronRight } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

/** A name and its value. `false` and undefined are left out. */
export type Fact = readonly [name: string, value: ComponentChildren] | false | undefined

interface FactsProps {
  readonly facts: readonly Fact[]
  /** One line for each, for long values. */
  readonly isLines?: boolean
  /** One short line for each, also in a narrow column. */
  readonly isTight?: boolean
  /** Least width of a column, pixels. */
  readonly min?: number
}

/** Names and values. */
export function Facts({ facts, isLines, isTight, min }: FactsProps) {
  return (
    <dl
      class={classes('ui-facts', isLines && 'is-lines', isTight && 'is-tight')}
      style={min === undefined ? undefined : { '--min': `${min}px` }}
    >
      {facts.map(
        (fact) =>
          fact && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

interface DisclosureProps {
  readonly summary: ComponentChildren
  readonly isOpen?: boolean
  readonly onToggle?: (isOpen: boolean) => void
  readonly children: ComponentChildren
}

/** Details that most people do not need: a line that opens. */
export function Disclosure({ summary, isOpen, onToggle, children }: DisclosureProps) {
  return (
    <details class="ui-disclosure" open={isOpen} onToggle={(event) => onToggle?.(event.currentTarget.open)}>
      <summary>
        <Icon of={ChevronRight} size={14} />
        {summary}
      </summary>
      <div>{children}</div>
    </details>
  )
}

interface MeterProps {
  /** The measured quantity, for screen readers. */
  readonly label: string
  readonly value: number
  readonly max: number
  /** Share from which it is drawn as a warning; default: never. */
  readonly warnFrom?: number
  /** Progress of a running task, not a share. */
  readonly isProgress?: boolean
}

/** A share of a whole as a bar. The number must be beside it. */
export function Meter({ label, value, max, warnFrom = 2, isProgress }: MeterProps) {
  const share = max <= 0 ? 0 : Math.max(0, Math.min(1, value / max))
  return (
    <span
      class={classes('ui-meter', share >= 1 && warnFrom < 2 ? 'is-bad' : share >= warnFrom && 'is-warn')}
      {...{ role: isProgress ? 'progressbar' : 'meter', 'aria-label': label }}
      {...{ 'aria-valuemin': 0, 'aria-valuemax': max, 'aria-valuenow': Math.min(value, max) }}
    >
      <span style={{ '--share': `${share * 100}%` }} />
    </span>
  )
}
