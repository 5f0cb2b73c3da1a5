import { useCallback } from 'preact/hooks'
import { navigate, useSearch } from 'wouter-preact/use-browser-location'

/** Values by name; `''` or none removes the name. */
export type UrlChange = Readonly<Record<string, string | readonly string[]>>

/**
 * State of a page in its URL, so that a view can be shared and the back button works. Keeps the state of the entry of the history.
 * @returns values by name, `''` when absent, and a setter that keeps other values
 */
export function useUrlState(): [URLSearchParams, (change: UrlChange, replace?: boolean) => void] {
  // The router decodes parts of it, and decoding twice would change values.
  const search = useSearch()
  const set = useCallback((change: UrlChange, replace = false) => {
    const text = changed(new URLSearchParams(location.search), change).toString()
    navigate(`${location.pathname}${text === '' ? '' : `?${text}`}`, { replace, state: history.state })
  }, [])
  return [new URLSearchParams(search), set]
}

/** The values after a change. */
export function changed(state: URLSearchParams, change: UrlChange): URLSearchParams {
  const next = new URLSearchParams(state)
  for (const [name, value] of Object.entries(change)) {
    next.delete(name)
    for (const each of typeof value === 'string' ? [value] : value) if (each !== '') next.append(name, each)
  }
  return next
}
