import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { SessionAnswer } from '../../../../schemas/dashboard/session.ts'

export interface Signed extends SessionAnswer {
  /** Asks anew who looks, and at what: behind a change of the tenants. */
  reload(): void
}

export const SessionContext = createContext<Signed | undefined>(undefined)

/** Who looks at the page. */
export function useSession(): Signed {
  return useContext(SessionContext)!
}
