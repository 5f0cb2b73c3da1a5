import type { ComponentChildren } from 'preact'

/** Around a table that may be wider than the page: it scrolls by itself, by keyboard too. */
export function TableRegion({
  label,
  class: name = '',
  children,
}: {
  readonly label: string
  readonly class?: string
  readonly children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached without a mouse
    <section class={`table ${name}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
