import { useRef, useState } from 'preact/hooks'

/** An action of the user: whether it is running, and why it failed. */
interface Action {
  readonly isBusy: boolean
  /** Error of the server. */
  readonly error: string | undefined
  /** Does nothing while the action is running. */
  run(work: () => Promise<void>): void
  /** Clears the error. */
  reset(): void
}

export function useAction(): Action {
  const [state, setState] = useState<Pick<Action, 'isBusy' | 'error'>>({ isBusy: false, error: undefined })
  const isUnderWay = useRef(false)
  const run = async (work: () => Promise<void>) => {
    if (isUnderWay.current) return
    isUnderWay.current = true
    setState({ isBusy: true, error: undefined })
    let error: string | undefined
    try {
      await work()
    } catch (failure) {
      error = (failure as Error).message
    }
    isUnderWay.current = false
    setState({ isBusy: false, error })
  }
  return { ...state, run: (work) => void run(work), reset: () => setState({ isBusy: false, error: undefined }) }
}
