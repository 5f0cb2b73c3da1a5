import { useEffect, useRef, useState } from 'preact/hooks'
import { useLookAgain } from './session.ts'

/** `waiting`: it is being opened, or opened again. `lost`: it was refused or broke, and is tried again. */
export type StreamState = 'waiting' | 'open' | 'lost'

const AGAIN_MS = 4_000

/**
 * Hears server-sent events of one name while the page is seen: a browser has six connections to a server, for all its tabs.
 * @param path undefined: nothing is heard
 */
export function useEvents<T>(path: string | undefined, name: string, onEvent: (value: T) => void): StreamState {
  const [state, setState] = useState<StreamState>('waiting')
  const heard = useRef(onEvent)
  heard.current = onEvent
  const lookAgain = useLookAgain()
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
        // One that only ended is opened again by the browser; one that was refused is not.
        const isRefused = opened.readyState === EventSource.CLOSED
        setState(isRefused ? 'lost' : 'waiting')
        if (!isRefused) return
        lookAgain()
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
