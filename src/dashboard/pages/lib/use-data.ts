import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, get, type Query, queryText } from './api.ts'
import { retryMs } from './retry.ts'
import { useSessionReload } from './session.ts'

/** State of a read. Keeps the last answer while the next one loads. */
export interface Data<T> {
  readonly value: T | undefined
  /** The URL that `value` answers. */
  readonly of: string | undefined
  readonly error: ApiError | undefined
  readonly isLoading: boolean
  reload(): void
}

/**
 * Reads data, and reads them again when path or query change, and at an interval while the page is visible.
 * @param path undefined: reads nothing
 */
export function useData<T>(path: string | undefined, query: Query = {}, everyMs?: number): Data<T> {
  const [state, setState] = useState<Omit<Data<T>, 'reload'>>({
    value: undefined,
    of: undefined,
    error: undefined,
    isLoading: true,
  })
  const [turn, setTurn] = useState(0)
  const address = path === undefined ? undefined : `${path}${queryText(query)}`
  const shown = useRef<string>()
  const reloadSession = useSessionReload()
  useEffect(() => {
    if (address === undefined) return
    const leaving = new AbortController()
    let timer: number | undefined
    let waitMs = everyMs
    if (shown.current !== address) setState((last) => ({ ...last, isLoading: true }))
    const ask = async () => {
      const askedMs = performance.now()
      try {
        const value = await get<T>(address, {}, leaving.signal)
        shown.current = address
        waitMs = everyMs
        setState({ value, of: address, error: undefined, isLoading: false })
      } catch (error) {
        if (leaving.signal.aborted) return
        const known = error instanceof ApiError ? error : new ApiError(0, String(error))
        setState((last) => ({ ...last, error: known, isLoading: false }))
        if (known.status === 401) reloadSession()
        waitMs = retryMs(known.status, performance.now() - askedMs, everyMs)
      }
      if (waitMs !== undefined && !leaving.signal.aborted) timer = window.setTimeout(again, waitMs)
    }
    const again = () => {
      if (document.visibilityState === 'visible') void ask()
      else document.addEventListener('visibilitychange', again, { once: true, signal: leaving.signal })
    }
    void ask()
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [address, everyMs, turn])
  const reload = useCallback(() => setTurn((n) => n + 1), [])
  return { ...state, reload }
}
