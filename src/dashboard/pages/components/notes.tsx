import type { ComponentChildren } from 'preact'
import type { ApiError } from '../lib/api.ts'

/** Placeholder while data load. Keeps the space of the content. */
export function Loading({ label = 'Loading…' }: { readonly label?: string }) {
  return (
    <p class="loading" role="status">
      {label}
    </p>
  )
}

/** An error, and what to do about it. */
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

/** Errors of the API start in lower case. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!)"]$/.test(text) ? '' : '.'}`
}

/** Shown while there are no data, with the next step. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="note empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}
