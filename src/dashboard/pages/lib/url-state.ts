import { useCallback } from 'preact/hooks'
import { navigate, useSearch } from 'wouter-preact/use-browser-location'

/**
 * State of a page in its URL, so that a view can be shared and the back button works.
 * @returns values by name, `''` when absent, and a setter that keeps other values
 */
export function useUrlState(): [
  URLSearchParams,
  (change: Readonly<Record<string, string>>, replace?: boolean) => void,
] {
  // The router decodes parts of it, and decoding twice would change values.
  const search = useSearch()
  const set = useCallback((change: Readonly<Record<string, string>>, replace = false) => {
    const next = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(change)) {
      if (value === '') next.delete(name)
      else next.set(name, value)
    }
    const text = next.toString()
    navigate(`${location.pathname}${text === '' ? '' : `?${text}`}`, { replace })
  }, [])
  return [new URLSearchParams(search), set]
}
