import { useRef, useState } from 'preact/hooks'
import { ApiError } from './api.ts'

/** An action of the user: whether it is running, and why it failed. */
interface Action {
  readonly isBusy: boolean
  /** Error of the server. */
  readonly error: string | undefined
  /** The field that the error is about; undefined: none of them. */
  readonly field: string | undefined
  /** Does nothing while the action is running. */
  run(work: () => Promise<void>): void
  /** Clears the error. */
  reset(): void
}

const QUIET = { isBusy: false, error: undefined, field: undefined }

export function useAction(): Action {
  const [state, setState] = useState<Pick<Action, 'isBusy' | 'error' | 'field'>>(QUIET)
  const isUnderWay = useRef(false)
  const run = async (work: () => Promise<void>) => {
    if (isUnderWay.current) return
    isUnderWay.current = true
    setState({ ...QUIET, isBusy: true })
    let error: string | undefined
    let field: string | undefined
    try {
      await work()
    } catch (failure) {
      error = (failure as Error).message
      if (failure instanceof ApiError) field = failure.field
    }
    isUnderWay.current = false
    setState({ isBusy: false, error, field })
  }
  return { ...state, run: (work) => void run(work), reset: () => setState(QUIET) }
}
