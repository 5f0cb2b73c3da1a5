import type { ComponentChildren } from 'preact'

interface ScrollProps {
  readonly label: string
  readonly class?: string
  readonly children: ComponentChildren
}

/** Lets wide content scroll by itself, by keyboard too. */
export function Scroll({ label, class: name, children }: ScrollProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling needs the keyboard
    <section class={name === undefined ? 'table' : `table ${name}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
