/**
 * Calls `next` with a value at once, or when its promise resolves. Avoids the cost of a promise when nothing has to be
 * awaited.
 */
export function goOn<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
