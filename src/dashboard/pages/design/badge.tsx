import './badge.css'
import type { ComponentChildren } from 'preact'
import { classes } from './classes.ts'
import { type CategoryColour, colourOf } from './colours.ts'

export type Tone = 'neutral' | 'accent' | 'warm' | 'good' | 'warn' | 'bad'

/** A state or tag in one or two words. The words say it; the colour only repeats it. */
export function Badge({ tone = 'neutral', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={classes('ui-badge', tone !== 'neutral' && `is-${tone}`)}>{children}</span>
}

/** A category with the colour that it has in charts. */
export function CategoryBadge({
  colour,
  children,
}: {
  readonly colour: CategoryColour
  readonly children: ComponentChildren
}) {
  return (
    <span class="ui-badge">
      <span class="ui-badge-dot" style={{ '--colour': colourOf(colour) }} aria-hidden="true" />
      {children}
    </span>
  )
}
