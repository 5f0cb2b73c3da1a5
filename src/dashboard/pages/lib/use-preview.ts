import { useEffect, useState } from 'preact/hooks'
import { post } from './api.ts'

/** Changes in a row are one question. */
const WAIT_MS = 250

/** The result of settings that are not saved. An older result stays until the next one arrives. */
interface Preview<T> {
  readonly value: T | undefined
  readonly error: string | undefined
}

/** @param body undefined: nothing is asked */
export function usePreview<T>(path: string, body: object | undefined): Preview<T> {
  const [state, setState] = useState<Preview<T>>({ value: undefined, error: undefined })
  const text = body === undefined ? undefined : JSON.stringify(body)
  useEffect(() => {
    if (text === undefined) return
    const leaving = new AbortController()
    const timer = window.setTimeout(async () => {
      try {
        const value = await post<T>(path, JSON.parse(text), leaving.signal)
        setState({ value, error: undefined })
      } catch (error) {
        if (!leaving.signal.aborted) setState({ value: undefined, error: (error as Error).message })
      }
    }, WAIT_MS)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [path, text])
  return state
}
