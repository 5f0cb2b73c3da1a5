import { useLayoutEffect, useState } from 'preact/hooks'
import { navigate } from 'wouter-preact/use-browser-location'
import { isAtLeast } from '../../../../schemas/dashboard/roles.ts'
import type { SessionAnswer } from '../../../../schemas/dashboard/session.ts'
import { PAGES } from '../pages.tsx'
import { pageAt } from './page-at.ts'
import { returnPathOf } from './return-path.ts'

/** In the storage of all tabs: a sign-in link opens in another tab. */
const KEY = 'ipid:return'

/** Stores the address of this page, to return to it after a sign-in. */
export function keepReturnPath(): void {
  const { pathname, search, hash } = location
  // A sign-in leads to the start page anyway, and a failed one ends on it.
  if (pathname === '/') return
  try {
    localStorage.setItem(KEY, JSON.stringify({ path: `${pathname}${search}${hash}`, atMs: Date.now() }))
  } catch {
    // Without storage, a sign-in leads to the start.
  }
}

/** Returns the kept address and removes it from the storage. */
function takeReturnPath(): string | undefined {
  try {
    const stored = localStorage.getItem(KEY)
    localStorage.removeItem(KEY)
    return returnPathOf(stored, location.origin, Date.now())
  } catch {
    return undefined
  }
}

/**
 * After a sign-in, returns to the page that was opened before it, if the user may see it.
 * @param session undefined: not signed in
 * @returns true until it is decided which page to show
 */
export function useReturn(session: SessionAnswer | undefined): boolean {
  const isSignedIn = session !== undefined
  const [isDecided, setDecided] = useState(false)
  useLayoutEffect(() => {
    if (session === undefined) return setDecided(false)
    const path = takeReturnPath()
    // Any other page was opened on purpose.
    if (path !== undefined && location.pathname === '/' && maySee(path, session)) navigate(path, { replace: true })
    setDecided(true)
  }, [isSignedIn])
  return isSignedIn && !isDecided
}

function maySee(path: string, { role, tenants, sample }: SessionAnswer): boolean {
  const found = pageAt(PAGES, new URL(path, location.origin).pathname)
  if (found === undefined || !isAtLeast(role, found.entry.role ?? 'viewer')) return false
  const { tenant } = found.parameters
  return tenant === undefined || tenants.includes(tenant) || tenant === sample
}
