import './layout.css'
import type { ComponentChildren } from 'preact'
import { classes } from './classes.ts'

/** A step of the spacing scale: 4, 8, 12, 16, 24, 32, 48, 64 pixels. */
export type Space = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8

interface StackProps {
  readonly gap?: Space
  readonly children: ComponentChildren
}

/** Children below each other. */
export function Stack({ gap = 4, children }: StackProps) {
  return (
    <div class="ui-stack" style={{ '--gap': `var(--space-${gap})` }}>
      {children}
    </div>
  )
}

interface ListProps extends StackProps {
  /** Name of the list, for screen readers. */
  readonly label: string
}

/** A list of cards or rows: its children are `li`. */
export function List({ label, gap = 3, children }: ListProps) {
  return (
    <ul class="ui-stack ui-list" aria-label={label} style={{ '--gap': `var(--space-${gap})` }}>
      {children}
    </ul>
  )
}

interface RowProps extends StackProps {
  /** Where a row's children meet: `end` for fields beside buttons. */
  readonly align?: 'center' | 'end' | 'start'
  readonly justify?: 'between' | 'right'
  /** They stay on one line, and the text in them breaks or is cut. */
  readonly isOneLine?: boolean
}

/** Children beside each other. They wrap where they do not fit. */
export function Row({ gap = 3, align = 'center', justify, isOneLine, children }: RowProps) {
  return (
    <div
      class={classes(
        'ui-row',
        align !== 'center' && `is-${align}`,
        justify && `is-${justify}`,
        isOneLine && 'is-one-line',
      )}
      style={{ '--gap': `var(--space-${gap})` }}
    >
      {children}
    </div>
  )
}

/** A child of a row that takes the room that is left. */
export function Grow({ children }: { readonly children: ComponentChildren }) {
  return <div class="ui-grow">{children}</div>
}

interface GridProps extends StackProps {
  /** Least width of a column, pixels. */
  readonly min?: number
  /** `start`: each child has the height of its content. Default: that of its row. */
  readonly align?: 'start'
}

/** Columns of one width, as many as fit. */
export function Grid({ gap = 4, min = 240, align, children }: GridProps) {
  return (
    <div
      class={classes('ui-grid', align && `is-${align}`)}
      style={{ '--gap': `var(--space-${gap})`, '--min': `${min}px` }}
    >
      {children}
    </div>
  )
}

interface SplitProps {
  /** What a thing is, at the left. */
  readonly aside: ComponentChildren
  readonly children: ComponentChildren
}

/** What a thing is, and beside it what it did. Below 1024 pixels they are one column. */
export function Split({ aside, children }: SplitProps) {
  return (
    <div class="ui-split">
      <div>{aside}</div>
      <div>{children}</div>
    </div>
  )
}

interface TextProps {
  /** `soft` is for text that explains; `bad` and `good` only where words say it too. */
  readonly tone?: 'soft' | 'bad' | 'good'
  readonly isSmall?: boolean
  readonly isStrong?: boolean
  /** One line; the rest becomes an ellipsis. */
  readonly isCut?: boolean
  /** A paragraph no wider than a person reads well. */
  readonly isMeasured?: boolean
  readonly as?: 'p' | 'span' | 'div'
  readonly id?: string
  /** Announced by screen readers when it changes. */
  readonly role?: 'status' | 'alert'
  readonly title?: string
  readonly children?: ComponentChildren
}

/** Text of a tone and size. */
export function Text(props: TextProps) {
  const { tone, isSmall, isStrong, isCut, isMeasured, as: Tag = 'p', children, ...others } = props
  const name = classes(
    'ui-text',
    tone && `is-${tone}`,
    isSmall && 'is-small',
    isStrong && 'is-strong',
    isCut && 'is-cut',
    isMeasured && 'is-measured',
  )
  return (
    <Tag class={name} {...others}>
      {children}
    </Tag>
  )
}

/** Text for screen readers only. */
export function Hidden({ children }: { readonly children: ComponentChildren }) {
  return <span class="ui-hidden">{children}</span>
}
