import './page.css'
import { ChevronLeft } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { RETURN } from '../lib/use-arrival.ts'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

interface PageProps {
  /** The heading of the page. */
  readonly title: ComponentChildren
  /** One or two sentences: which question the page answers. */
  readonly description?: ComponentChildren
  /** Buttons and choices that belong to the whole page. */
  readonly actions?: ComponentChildren
  /** The page above. */
  readonly back?: { readonly href: string; readonly label: string }
  /** Beside the link to the page above: where this page is in it. */
  readonly beside?: ComponentChildren
  /** For forms and texts: a width that reads well. */
  readonly isNarrow?: boolean
  readonly children?: ComponentChildren
}

/** A page: its title, its subject, its actions, and its sections with the same space between them. */
export function Page({ title, description, actions, back, beside, isNarrow, children }: PageProps) {
  return (
    <div class={classes('ui-page', isNarrow && 'is-narrow')}>
      <header class="ui-page-head">
        <div class="ui-page-title">
          {back && (
            <div class="ui-page-above">
              <Link href={back.href} state={RETURN} class="ui-page-back">
                <Icon of={ChevronLeft} size={14} />
                {back.label}
              </Link>
              {beside}
            </div>
          )}
          <h1>{title}</h1>
          {description && <p class="ui-page-about">{description}</p>}
        </div>
        {actions && <div class="ui-page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

interface SectionProps {
  readonly title: ComponentChildren
  readonly description?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}

/** A part of a page with a heading. Screen readers list it as a region. */
export function Section({ title, description, actions, children }: SectionProps) {
  const id = useId()
  return (
    <section class="ui-section" aria-labelledby={id}>
      <div class="ui-section-head">
        <div>
          <h2 id={id}>{title}</h2>
          {description && <p class="ui-section-about">{description}</p>}
        </div>
        {actions && <div class="ui-page-actions">{actions}</div>}
      </div>
      {children}
    </section>
  )
}

interface CardProps {
  readonly title?: ComponentChildren
  readonly actions?: ComponentChildren
  /** Less space inside, for a list of cards. */
  readonly isTight?: boolean
  /** Draws the eye: something new that needs a person. */
  readonly isAccent?: boolean
  readonly children?: ComponentChildren
}

/** A box around things that belong together. Use it sparingly: space separates too. */
export function Card({ title, actions, isTight, isAccent, children }: CardProps) {
  const id = useId()
  const Tag = title === undefined ? 'div' : 'section'
  return (
    <Tag
      class={classes('ui-card', isTight && 'is-tight', isAccent && 'is-accent')}
      aria-labelledby={title === undefined ? undefined : id}
    >
      {title !== undefined && (
        <div class="ui-section-head">
          <h2 id={id}>{title}</h2>
          {actions && <div class="ui-page-actions">{actions}</div>}
        </div>
      )}
      {children}
    </Tag>
  )
}
