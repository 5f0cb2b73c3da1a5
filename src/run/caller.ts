import { AsyncLocalStorage } from 'node:async_hooks'

const callers = new AsyncLocalStorage<AbortSignal>()

/**
 * Runs work for a caller who may leave before its end. Everything that it awaits finds the signal with `callerLeft`. Not for work that
 * begins something that goes on after it, or that other callers share.
 * @param left aborts when the caller has gone
 */
export function forCaller<T>(left: AbortSignal, work: () => T): T {
  return callers.run(left, work)
}

/** The signal of `forCaller`. Undefined: the work is for nobody who may leave. */
export function callerLeft(): AbortSignal | undefined {
  return callers.getStore()
}
