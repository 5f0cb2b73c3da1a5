import type { ComponentChildren } from 'preact'
import type { ApiError } from '../lib/api.ts'

/** Something is on its way. It keeps the room that the content will take. */
export function Loading({ label = 'Loading…' }: { readonly label?: string }) {
  return (
    <p class="loading" role="status">
      {label}
    </p>
  )
}

/** Something went wrong, and what to do. */
export function Problem({ error, onRetry }: { readonly error: ApiError | Error; readonly onRetry?: () => void }) {
  return (
    <div class="note problem" role="alert">
      <p>{sentence(error.message)}</p>
      {'status' in error && error.status >= 500 && (
        <p>
          Accepted events are safe and will be stored later. On the machine where ipid runs, <code>./ipid status</code>{' '}
          shows the cause.
        </p>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** The server's words begin in small letters, as those of the API. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!)"]$/.test(text) ? '' : '.'}`
}

/** There is nothing yet: says what to do next. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="note empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}
