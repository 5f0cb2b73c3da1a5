import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { SessionAnswer } from '../../../../schemas/dashboard/session.ts'

export interface Signed extends SessionAnswer {
  /** Asks anew who looks, and at what: behind a change of the tenants. */
  reload(): void
}

export const SessionContext = createContext<Signed | undefined>(undefined)

/** Asks anew who looks, where that is known: somebody may have ended the session, and what the page shows is to go. */
export function useLookAgain(): () => void {
  return useContext(SessionContext)?.reload ?? NOBODY
}

const NOBODY = () => {}

/** Who looks at the page. */
export function useSession(): Signed {
  return useContext(SessionContext)!
}
