import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { SessionAnswer } from '../../../../schemas/dashboard/session.ts'

export interface Signed extends SessionAnswer {
  /** Reads the session again, after a change of tenants. */
  reload(): void
}

export const SessionContext = createContext<Signed | undefined>(undefined)

/** A function that reads the session again: the page must disappear when the session has ended. */
export function useSessionReload(): () => void {
  return useContext(SessionContext)?.reload ?? NO_RELOAD
}

const NO_RELOAD = () => {}

/** The session of the user. */
export function useSession(): Signed {
  return useContext(SessionContext)!
}
