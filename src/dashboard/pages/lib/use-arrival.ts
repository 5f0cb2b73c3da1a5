import { useEffect, useRef } from 'preact/hooks'

/**
 * A page that a link led to begins at its top, and has the focus: the link may be gone. What back and forward lead to is
 * where it was.
 */
export function useArrival(path: string, elementId: string): void {
  const left = useRef(path)
  const returnedTo = useRef<string>()
  useEffect(() => {
    const returned = () => {
      returnedTo.current = window.location.pathname
    }
    window.addEventListener('popstate', returned)
    return () => window.removeEventListener('popstate', returned)
  }, [])
  useEffect(() => {
    if (left.current === path) return
    left.current = path
    const isReturn = returnedTo.current === path
    returnedTo.current = undefined
    if (isReturn) return
    window.scrollTo(0, 0)
    document.getElementById(elementId)?.focus({ preventScroll: true })
  }, [path, elementId])
}
