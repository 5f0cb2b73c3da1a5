/**
 * Goes on with a value at once, or as soon as the promise of one is kept: a promise is made only where something has to be
 * waited for.
 */
export function goOn<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
