import './splash.css'
import type { ComponentChildren } from 'preact'

/** A page without the sidebar: sign-in, and errors before it. */
export function Splash({
  title,
  children,
}: {
  readonly title: ComponentChildren
  readonly children: ComponentChildren
}) {
  return (
    <main class="ui-splash">
      <h1>{title}</h1>
      {children}
    </main>
  )
}
