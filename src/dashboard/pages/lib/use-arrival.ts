import { useEffect, useRef } from 'preact/hooks'

/**
 * After a click on a link, scrolls to the top and moves the focus to the page. After back or forward, leaves the scroll
 * position.
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
