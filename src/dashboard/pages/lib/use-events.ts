import { useEffect, useRef, useState } from 'preact/hooks'
import { useSessionReload } from './session.ts'

/** `waiting`: opening the connection. `lost`: it was refused or broke; the page tries again. */
export type StreamState = 'waiting' | 'open' | 'lost'

const AGAIN_MS = 4_000

/**
 * Receives server-sent events of one name while the page is visible. Hidden pages disconnect, because a browser allows six connections for all tabs.
 * @param path undefined: no connection
 */
export function useEvents<T>(path: string | undefined, name: string, onEvent: (value: T) => void): StreamState {
  const [state, setState] = useState<StreamState>('waiting')
  const heard = useRef(onEvent)
  heard.current = onEvent
  const reloadSession = useSessionReload()
  useEffect(() => {
    if (path === undefined) return
    let source: EventSource | undefined
    let timer: number | undefined
    const close = () => {
      clearTimeout(timer)
      source?.close()
      source = undefined
    }
    const open = () => {
      close()
      if (document.visibilityState !== 'visible') return
      const opened = new EventSource(path)
      source = opened
      opened.addEventListener('open', () => setState('open'))
      opened.addEventListener(name, (event) => heard.current(JSON.parse((event as MessageEvent<string>).data) as T))
      opened.addEventListener('error', () => {
        // The browser reopens a connection that ended, but not one that was refused.
        const isRefused = opened.readyState === EventSource.CLOSED
        setState(isRefused ? 'lost' : 'waiting')
        if (!isRefused) return
        reloadSession()
        timer = window.setTimeout(open, AGAIN_MS)
      })
    }
    open()
    document.addEventListener('visibilitychange', open)
    return () => {
      document.removeEventListener('visibilitychange', open)
      close()
    }
  }, [path, name])
  return state
}
