import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { SessionAnswer } from '../../../../schemas/dashboard/session.ts'

export interface Signed extends SessionAnswer {
  /** Reads the session again, after a change of tenants. */
  reload(): void
}

export const SessionContext = createContext<Signed | undefined>(undefined)

/** Reads the session again: when it has ended, the page must disappear. */
export function useLookAgain(): () => void {
  return useContext(SessionContext)?.reload ?? NOBODY
}

const NOBODY = () => {}

/** The session of the user. */
export function useSession(): Signed {
  return useContext(SessionContext)!
}
