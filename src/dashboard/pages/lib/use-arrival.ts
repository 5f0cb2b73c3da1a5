import { useEffect, useRef } from 'preact/hooks'

/** State of a link that leads back: it returns to the place where the reader was, as the back button does. */
export const RETURN = { isReturn: true } as const

/** Where a reader left a page. */
interface Place {
  /** The link that was clicked, as in `href`. */
  readonly href: string
  /** How far below the top of the window it was. */
  readonly top: number
  readonly scrollY: number
  /** Positions of the tables that scroll by themselves, in the order of the page. */
  readonly tables: readonly { readonly top: number; readonly left: number }[]
}

/** By path and query. */
const places = new Map<string, Place>()
const PLACES_MAX = 100
/** A list may load for a while. After that, or when the reader scrolls or types, the page stays where it is. */
const WAIT_MS = 15_000
/** How long a page may grow after its rows are on it. */
const GROWS_MS = 2_000
const SCROLLING_TABLES = '.ui-table-scroll'

const addressNow = () => window.location.pathname + window.location.search

/**
 * After a click on a link, scrolls to the top and moves the focus to the page. After back or forward, and after a link with the state
 * `RETURN`, goes to the link that was clicked there, as soon as the page has loaded it; without one, leaves the scroll position.
 */
export function useArrival(path: string, elementId: string): void {
  const left = useRef(path)
  const returnedTo = useRef<string>()
  useEffect(() => {
    const returned = () => {
      returnedTo.current = window.location.pathname
    }
    const clicked = (event: Event) => {
      const link = (event.target as Element).closest?.<HTMLAnchorElement>('main a[href]')
      if (link !== null && link !== undefined) remember(addressNow(), placeOf(link))
    }
    window.addEventListener('popstate', returned)
    // The page changes in a later phase of the same click.
    document.addEventListener('click', clicked, true)
    return () => {
      window.removeEventListener('popstate', returned)
      document.removeEventListener('click', clicked, true)
    }
  }, [])
  useEffect(() => {
    if (left.current === path) return
    left.current = path
    const isReturn = returnedTo.current === path || window.history.state?.isReturn === true
    returnedTo.current = undefined
    const place = isReturn ? places.get(addressNow()) : undefined
    if (place !== undefined) return goTo(place)
    if (isReturn) return
    window.scrollTo(0, 0)
    document.getElementById(elementId)?.focus({ preventScroll: true })
  }, [path, elementId])
}

function remember(address: string, place: Place): void {
  places.delete(address)
  places.set(address, place)
  if (places.size > PLACES_MAX) places.delete(places.keys().next().value!)
}

function placeOf(link: HTMLAnchorElement): Place {
  const tables = [...document.querySelectorAll(SCROLLING_TABLES)]
  return {
    href: link.getAttribute('href')!,
    top: link.getBoundingClientRect().top,
    scrollY: window.scrollY,
    tables: tables.map(({ scrollTop: top, scrollLeft: left }) => ({ top, left })),
  }
}

/** Goes to a place as soon as its link is on the page, and stays with the link while the page grows. @returns gives up */
function goTo({ href, top, scrollY, tables }: Place): () => void {
  const leaving = new AbortController()
  const stop = () => leaving.abort()
  let link: HTMLElement | null = null
  const follow = () => {
    const moved = () => link!.getBoundingClientRect().top - top
    link!.closest(SCROLLING_TABLES)?.scrollBy(0, moved())
    window.scrollBy(0, moved())
  }
  // Rows before it may be new, and the page may not be as high yet as it was.
  const growth = new ResizeObserver(follow)
  const look = () => {
    link = document.querySelector<HTMLElement>(`main a[href="${CSS.escape(href)}"]`)
    if (link === null) return
    observer.disconnect()
    // The rest of the page is in place by then.
    requestAnimationFrame(() => {
      if (leaving.signal.aborted) return
      document.querySelectorAll(SCROLLING_TABLES).forEach((table, i) => {
        table.scrollTo(tables[i]?.left ?? 0, tables[i]?.top ?? 0)
      })
      window.scrollTo(0, scrollY)
      link!.focus({ preventScroll: true })
      // It is called at once, too.
      growth.observe(document.body)
      setTimeout(stop, GROWS_MS)
    })
  }
  const observer = new MutationObserver(look)
  const timer = setTimeout(stop, WAIT_MS)
  leaving.signal.addEventListener('abort', () => {
    observer.disconnect()
    growth.disconnect()
    clearTimeout(timer)
  })
  for (const name of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
    window.addEventListener(name, stop, { signal: leaving.signal, passive: true })
  observer.observe(document.body, { childList: true, subtree: true })
  look()
  return stop
}
