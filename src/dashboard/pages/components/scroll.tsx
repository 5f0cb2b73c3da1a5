import type { ComponentChildren } from 'preact'

interface ScrollProps {
  readonly label: string
  readonly class?: string
  readonly children: ComponentChildren
}

/** What is wider than the page scrolls by itself, by keyboard too. */
export function Scroll({ label, class: name, children }: ScrollProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <section class={name === undefined ? 'table' : `table ${name}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
