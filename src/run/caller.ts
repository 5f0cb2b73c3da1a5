import { AsyncLocalStorage } from 'node:async_hooks'

const callers = new AsyncLocalStorage<AbortSignal>()

/**
 * Runs work for a caller who may leave before its end. Everything that it awaits finds the signal with `callerLeft`. Not for work that
 * starts something that continues after it, or that other callers share.
 * @param left aborts when the caller has left
 */
export function forCaller<T>(left: AbortSignal, work: () => T): T {
  return callers.run(left, work)
}

/** The signal of `forCaller`. Undefined: no caller may leave before the end of the work. */
export function callerLeft(): AbortSignal | undefined {
  return callers.getStore()
}
